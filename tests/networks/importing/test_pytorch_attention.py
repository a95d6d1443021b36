"""PyTorch's attention with scales, masks and shared heads: right, and of layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.networks.choices import defaults
from tests.networks.small import Function, random_input, result_of, seeded, torch
from tunesmith.errors import UsageError
from tunesmith.networks import Network, from_torch
from tunesmith.networks.layers.layer import Layer

attention = torch.nn.functional.scaled_dot_product_attention


def computes_what_pytorch_computes(function: Callable[..., Any], *inputs: Any) -> Network:
    model = Function(function)
    network = from_torch(model, inputs)
    found = network.built(defaults(network))(*inputs)
    each = found if isinstance(found, tuple) else (found,)
    expected = result_of(model, *inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(each, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    return network


def layers_of(network: Network) -> Counter[str]:
    return Counter(layer.operator.name for layer in network.layers)


def rest_of(network: Network) -> set[str]:
    """The operations that are no layers and move no elements."""
    rest = {step.op for step in network.steps if not isinstance(step, Layer)}
    return rest - {"reshape", "permute_dims"}


QUERY, KEY, VALUE = (
    random_input(2, 3, tokens, depth) for tokens, depth in ((5, 4), (6, 4), (6, 2))
)
BOOLS = random_input(2, 1, 5, 6) > -0.5


def test_a_scale() -> None:
    network = computes_what_pytorch_computes(
        lambda *inputs: attention(*inputs, scale=0.25), QUERY, KEY, VALUE
    )
    assert network.layers[0].operator.label == (
        "batch_matmul(b=6, m=5, n=6, k=4, transpose=NT, post_ops=affine:0.25:0)"
    )
    assert layers_of(network) == {"batch_matmul": 2, "softmax": 1}
    assert rest_of(network) == set()


def test_masks_of_booleans() -> None:
    """A row of which all is masked gives zeros."""
    mask = BOOLS.clone()
    mask[0, 0, 2] = False
    network = computes_what_pytorch_computes(attention, QUERY, KEY, VALUE, mask)
    assert layers_of(network) >= Counter({"batch_matmul": 2, "softmax": 1})
    assert "nn.attention_bias" not in rest_of(network)


@pytest.mark.parametrize("shape", [(5, 6), (1, 6), (2, 1, 1, 6), (2, 3, 5, 6)])
def test_masks_of_numbers(shape: tuple[int, ...]) -> None:
    """Some are infinite, all of a row if the mask has several rows."""
    mask = random_input(*shape)
    mask[..., -1] = -torch.inf
    if shape[-2] > 1:
        mask[..., 1, :] = -torch.inf
    network = computes_what_pytorch_computes(attention, QUERY, KEY, VALUE, mask)
    assert layers_of(network) >= Counter({"batch_matmul": 2, "softmax": 1})


def test_a_causal_mask() -> None:
    network = computes_what_pytorch_computes(
        lambda *inputs: attention(*inputs, is_causal=True), QUERY, KEY, VALUE
    )
    assert layers_of(network) == {"batch_matmul": 2, "softmax": 1, "elementwise": 1}
    assert rest_of(network) == set()


def test_masks_that_are_made_in_the_network_are_constants() -> None:
    """As those of a transformer's encoder, and of models that compare positions."""

    def forward(*inputs: Any) -> Any:
        ahead = torch.full((5, 6), -torch.inf).triu(1)
        places = torch.arange(6)
        near = (places[None, :] <= places[:5, None]) & ~(places[None, :] < places[:5, None] - 2)
        return attention(*inputs, ahead), attention(*inputs, near)

    network = computes_what_pytorch_computes(forward, QUERY, KEY, VALUE)
    assert layers_of(network) == {"batch_matmul": 4, "softmax": 2, "elementwise": 2}
    assert rest_of(network) == set()


def test_other_shapes() -> None:
    """Two and three axes, batches of one size and another, and heads that share keys."""

    def forward(query: Any, key: Any, value: Any, few: Any) -> Any:
        return (
            attention(query[0, 0], key[0, 0], value[0, 0]),
            attention(query[0], key[0], value[0], is_causal=True),
            attention(query, key[:1], value[:, :1]),
            attention(query, few, few, enable_gqa=True),
            attention(query, few, few, is_causal=True, enable_gqa=True),
        )

    query, few = random_input(2, 6, 5, 4), random_input(2, 2, 6, 4)
    key, value = random_input(2, 6, 6, 4), random_input(2, 6, 6, 2)
    network = computes_what_pytorch_computes(forward, query, key, value, few)
    assert layers_of(network)["softmax"] == 5
    assert "matmul" not in rest_of(network)


def test_an_encoder_with_padding() -> None:
    """PyTorch's own layer, whose mask of padding is an input."""
    layer = seeded(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))
    data, padding = random_input(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, data: Any, padding: Any) -> Any:
            return self.layer(data, src_key_padding_mask=padding)

    network = from_torch(Model(), (data, padding))
    found = network.built(defaults(network))(data, padding)
    torch.testing.assert_close(found, result_of(Model(), data, padding))
    assert layers_of(network) >= Counter({"batch_matmul": 2, "softmax": 1})


def test_dropout_is_refused() -> None:
    with pytest.raises(UsageError, match="with dropout is not supported"):
        from_torch(Function(lambda *inputs: attention(*inputs, dropout_p=0.5)), (QUERY, KEY, VALUE))
