"""PyTorch's modules as graphs, simplified and covered with layers."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tests.networks.small import Residual, SeveralResults, random_input, seeded, torch
from tunesmith.errors import UsageError
from tunesmith.networks import from_torch
from tunesmith.networks.importing.pytorch import exported, module_of
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.relax import graph_of


def steps_of(network: Any) -> list[str]:
    """Operators with their options, and the names of the rest."""
    return [step.operator.label if isinstance(step, Layer) else step.op for step in network.steps]


def test_a_block_of_resnet_is_covered() -> None:
    network = from_torch(seeded(Residual()), random_input(1, 3, 8, 8))
    assert steps_of(network) == [
        "conv2d(ci=3, h=8, w=8, co=8, kernel=3x3, padding=1x1, bias=true, relu=true, "
        "constant_weights=true)",
        "conv2d(ci=8, h=8, w=8, co=8, kernel=3x3, padding=1x1, bias=true, relu=true, "
        "residual=true, constant_weights=true)",
        "pool2d(c=8, h=8, w=8, kernel=8x8, stride=8x8, kind=avg)",
        "reshape",
        "dense(n=5, k=8, bias=true, constant_weights=true)",
    ]


def test_what_no_operator_covers_stays() -> None:
    network = from_torch(seeded(SeveralResults()), random_input(2, 6))
    assert steps_of(network)[0] == "dense(m=2, n=8, k=6, bias=true, constant_weights=true)"
    assert sorted(steps_of(network)[1:]) == ["concat", "cos", "sin", "split"]


def test_batch_norm_is_imported_for_inference() -> None:
    """TVM's importer by itself takes the momentum for epsilon, and trains."""
    model = seeded(Residual())
    module = module_of(exported(model, (random_input(1, 3, 8, 8),)))
    norms = [node for node in graph_of(module["main"]).nodes if node.op == "nn.batch_norm"]
    assert [norm.attributes["epsilon"] for norm in norms] == [1e-5, 1e-5]
    assert not any(norm.attributes["training"] for norm in norms)


def test_batch_norm_is_folded_with_the_bias_before_it() -> None:
    model = seeded(Residual())
    network = from_torch(model, random_input(1, 3, 8, 8))
    second = network.layers[1]
    norm = model.second_norm
    scale = (norm.weight / (norm.running_var + norm.eps).sqrt()).detach().numpy()
    weights = model.second.weight.detach().numpy() * scale[:, None, None, None]
    shift = (model.second.bias - norm.running_mean).detach().numpy() * scale
    _, folded, bias = (value.constant for value in second.inputs[:3])
    assert folded is not None
    assert bias is not None
    np.testing.assert_allclose(folded, weights, rtol=1e-5)
    np.testing.assert_allclose(bias, shift + norm.bias.detach().numpy(), rtol=1e-5)


def test_a_value_with_two_readers_ends_a_layer() -> None:
    """The sum before ReLU is a result, too: ReLU may not hide it."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(6, 8)

        def forward(self, data: Any) -> Any:
            found = self.linear(data)
            return found, torch.relu(found)

    network = from_torch(Model(), random_input(2, 6))
    assert steps_of(network) == [
        "dense(m=2, n=8, k=6, bias=true, constant_weights=true)",
        "elementwise(inner=16, post_ops=relu)",
    ]


def test_tasks_are_counted() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(*(torch.nn.Linear(6, 6) for _ in range(3)))

        def forward(self, data: Any) -> Any:
            return self.layers(data)

    network = from_torch(Model(), random_input(2, 6))
    assert list(network.tasks.values()) == [3]


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a network of PyTorch is a torch\.nn\.Module, not list"):
        from_torch([], random_input(1))


def test_what_cannot_be_exported_is_refused_in_one_line() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            return data + 1 if data.sum().item() > 0 else data

    with pytest.raises(UsageError, match="PyTorch cannot export this network: ") as refused:
        from_torch(Model(), random_input(4))
    assert "\n" not in str(refused.value)


SCALE = torch.arange(8.0)
FUNCTIONS: dict[str, Any] = {
    "clip:0:6": torch.nn.functional.relu6,
    "clip:-0.5:inf": lambda x: x.clamp(min=-0.5),
    "hard_swish": torch.nn.functional.hardswish,
    "hard_sigmoid": torch.nn.functional.hardsigmoid,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "leaky_relu:0.01": torch.nn.functional.leaky_relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "affine:0.125:0+affine:1:-2": lambda x: x / 8 - 2,
    "scale": lambda x: x * SCALE,
}


def test_functions_are_epilogues() -> None:
    """All in one network: each export takes seconds."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(6, 8) for _ in FUNCTIONS)

        def forward(self, data: Any) -> Any:
            each = zip(self.layers, FUNCTIONS.values(), strict=True)
            return tuple(function(layer(data)) for layer, function in each)

    network = from_torch(Model(), random_input(2, 6))
    found = [getattr(layer.operator, "post_ops", None) for layer in network.layers]
    assert len(network.steps) == len(FUNCTIONS)
    assert found == list(FUNCTIONS)


def test_places_may_count_from_the_end() -> None:
    """TVM's importer leaves the index -1, and its look-up reads what is before the tensor."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            return data[:, -1] * 2, data[-2]

    network = from_torch(Model(), random_input(2, 3, 4))
    taken = [node for node in network.graphs[0].graph.nodes if node.op == "sliced"]
    found = [(node.attributes["first"], node.attributes["ends"]) for node in taken]
    assert found == [((0, 2, 0), (2, 3, 4)), ((0, 0, 0), (1, 3, 4))]
    assert "take" not in steps_of(network)


def test_tensors_are_multiplied_and_added_in_epilogues() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(6, 8)

        def forward(self, data: Any) -> Any:
            gate = torch.sigmoid(self.first(data))
            return torch.tanh(self.second(data)) * gate + gate

    network = from_torch(Model(), random_input(2, 6))
    assert [getattr(layer.operator, "post_ops", "") for layer in network.layers] == [
        "sigmoid",
        "tanh+multiply+add",
    ]
    gate = network.layers[0].output
    assert network.layers[1].inputs[3:] == (gate, gate)


class Deep(torch.nn.Module):  # type: ignore[misc]
    """An operation that is not supported, inside of a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(6, 8), Spectral())

    def forward(self, data: Any) -> Any:
        return self.encoder(data)


class Spectral(torch.nn.Module):  # type: ignore[misc]
    def forward(self, data: Any) -> Any:
        return torch.fft.rfft(data).abs()


def test_an_operation_that_is_not_supported_is_named_with_its_place() -> None:
    line = inspect.getsourcelines(Spectral.forward)[1] + 1
    place = rf"\(module encoder\.1, test_import\.py, line {line}\)"
    with pytest.raises(UsageError, match=rf"not supported: _fft_r2c\.default {place}$"):
        from_torch(seeded(Deep()), random_input(2, 6))
