"""Chains of elementwise operations as layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.networks.choices import defaults
from tests.networks.small import Function, random_input, result_of, seeded, torch
from tunesmith.networks import Network, from_torch
from tunesmith.networks.layers.layer import Layer


def labels_of(network: Network) -> list[str]:
    """The operators of all steps, or the names of the nodes that none covers."""
    return [step.operator.label if isinstance(step, Layer) else step.op for step in network.steps]


def test_chains_of_every_kind_are_layers_and_right() -> None:
    """All in one network: each export takes seconds."""
    scale, row = torch.arange(1.0, 4.0).reshape(1, 3, 1, 1), torch.arange(1.0, 6.0)
    functions: dict[str, Callable[[Any, Any, Any], Any]] = {
        # Operands of the same shape; the second one is divided by.
        "elementwise(inner=60, post_ops=add+relu)": lambda x, y, _: torch.relu(x + y),
        "elementwise(inner=60, post_ops=square+affine:1:1+reciprocal+multiply)": (
            lambda x, y, _: y / (x * x + 1)
        ),
        "elementwise(inner=60, post_ops=clip:0:inf+negative+add+abs)": (
            lambda x, y, _: (y - x.clamp(min=0)).abs()
        ),
        "elementwise(inner=60, post_ops=affine:2:0+subtract+exp+maximum)": (
            lambda x, y, _: torch.maximum(torch.exp((x + x) - y), y)
        ),
        # Numbers per channel, constants and run-time values, with which the shape is another one.
        "elementwise(n=2, c=3, inner=10, post_ops=scale+shift+sigmoid)": (
            lambda x, _, __: torch.sigmoid(x * scale + scale)
        ),
        "elementwise(n=2, c=3, inner=10, post_ops=shift+scale)": lambda x, _, __: (
            (x - scale) / scale
        ),
        "elementwise(c=6, inner=10, post_ops=tanh+scale)": lambda x, _, gate: torch.tanh(x) * gate,
        "elementwise(c=6, inner=10, post_ops=negative+shift+negative+affine:0.5:0)": (
            lambda x, _, gate: (x - gate) / 2
        ),
        "elementwise(n=12, c=5, inner=1, post_ops=shift+power:3+multiply)": (
            lambda x, y, _: (x + row) ** 3 * y
        ),
        "elementwise(inner=60, post_ops=affine:1:3+sqrt+minimum)": (
            lambda x, y, _: torch.minimum(torch.sqrt(x + 3), y)
        ),
        "elementwise(inner=60, post_ops=affine:-1:2+rsqrt)": lambda x, _, __: torch.rsqrt(2.0 - x),
    }
    model = Function(lambda *inputs: tuple(function(*inputs) for function in functions.values()))
    inputs = random_input(2, 3, 2, 5), random_input(2, 3, 2, 5) / 2, random_input(2, 3, 1, 1)
    network = from_torch(model, inputs)
    assert labels_of(network) == list(functions)
    compiled = network.built(defaults(network))
    for found, expected in zip(compiled(*inputs), result_of(model, *inputs), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_chain_ends_where_another_one_begins() -> None:
    """Where a value has two readers, and where numbers are per other channels than before."""
    scale = torch.arange(1.0, 4.0).reshape(1, 3, 1, 1)

    def forward(x: Any, gate: Any) -> Any:
        begun = torch.relu(x) * scale
        return torch.tanh(begun * gate) + begun

    network = from_torch(Function(forward), (random_input(2, 3, 2, 5), random_input(2, 3, 1, 1)))
    assert labels_of(network) == [
        "elementwise(n=2, c=3, inner=10, post_ops=relu+scale)",
        "elementwise(c=6, inner=10, post_ops=scale+tanh+add)",
    ]


def test_long_chains_are_several_layers() -> None:
    def forward(x: Any) -> Any:
        for _ in range(10):
            x = torch.nn.functional.silu(x)
        return x

    labels = labels_of(from_torch(Function(forward), random_input(6)))
    assert [label.count("silu") for label in labels] == [8, 2]


def test_products_absorb_before_chains_do() -> None:
    """The sum comes after ReLU, which no product has, but it belongs to the product's epilogue."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(6, 6)

        def forward(self, data: Any) -> Any:
            return torch.relu(data) + self.linear(data)

    network = from_torch(Model(), random_input(2, 6))
    assert labels_of(network) == [
        "elementwise(inner=12, post_ops=relu)",
        "dense(m=2, n=6, k=6, bias=true, residual=true, constant_weights=true)",
    ]


class Squeezed(torch.nn.Module):  # type: ignore[misc]
    """A convolution's results times a number per channel that is made of them (squeeze and
    excitation), and times another one that is an input."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 8, 1)

    def forward(self, data: Any, scale: Any) -> Any:
        found = self.first(data)
        gate = torch.sigmoid(self.gate(found.mean((2, 3), keepdim=True)))
        return self.first(data) * scale, found * gate


def test_numbers_per_channel_that_are_computed() -> None:
    """At batch 1 a product absorbs them; where others read its results, it is a layer."""
    model = seeded(Squeezed())
    inputs = random_input(1, 3, 6, 6), random_input(1, 8, 1, 1)
    network = from_torch(model, inputs)
    labels = labels_of(network)
    assert any(label.startswith("conv2d") and "post_ops=scale" in label for label in labels)
    assert "elementwise(c=8, inner=16, post_ops=scale)" in labels
    compiled = network.built(defaults(network))
    for found, expected in zip(compiled(*inputs), result_of(model, *inputs), strict=True):
        torch.testing.assert_close(found, expected)


def test_operations_after_a_reshape_are_absorbed() -> None:
    """As the residual of ViT's attention, whose results are reshaped before they are added to."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(6, 6)

        def forward(self, data: Any) -> Any:
            return data + torch.relu(self.linear(data.reshape(10, 6)).reshape(2, 5, 6))

    model, data = seeded(Model()), random_input(2, 5, 6)
    network = from_torch(model, data)
    assert labels_of(network) == [
        "reshape",
        "dense(m=10, n=6, k=6, bias=true, relu=true, post_ops=add, constant_weights=true)",
    ]
    found = network.built(defaults(network))(data)
    torch.testing.assert_close(found, result_of(model, data))
