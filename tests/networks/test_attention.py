"""Attention as products and softmax, and the permutations around it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, seeded, torch
from tunesmith.networks import from_torch
from tunesmith.networks.layers.layer import Layer

HEADS, UNITS, TOKENS = 2, 8, 5


class Attention(torch.nn.Module):  # type: ignore[misc]
    """A layer of a transformer, without its second half."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.query, self.key, self.value = (nn.Linear(UNITS, UNITS) for _ in range(3))
        self.output, self.norm = nn.Linear(UNITS, UNITS), nn.LayerNorm(UNITS)

    def heads(self, data: Any) -> Any:
        return data.view(len(data), TOKENS, HEADS, UNITS // HEADS).transpose(1, 2)

    def forward(self, data: Any) -> Any:
        each = (self.heads(layer(data)) for layer in (self.query, self.key, self.value))
        found = torch.nn.functional.scaled_dot_product_attention(*each)
        attended = self.output(found.transpose(1, 2).reshape(data.shape))
        return self.norm(data + attended)


def test_attention_is_covered_but_for_the_heads() -> None:
    network = from_torch(seeded(Attention()), random_input(3, TOKENS, UNITS))
    assert [layer.operator.label for layer in network.layers] == [
        *["dense(m=15, n=8, k=8, bias=true, constant_weights=true)"] * 3,
        "batch_matmul(b=6, m=5, n=5, k=4, transpose=NT, post_ops=affine:0.5:0)",
        "softmax(m=30, n=5)",
        "batch_matmul(b=6, m=5, n=4, k=5)",
        "dense(m=15, n=8, k=8, bias=true, residual=true, constant_weights=true)",
        "layer_norm(m=15, n=8)",
    ]
    rest = Counter(step.op for step in network.steps if not isinstance(step, Layer))
    # One for each of query, key, value and result.
    assert rest["permute_dims"] == 4
    assert rest.keys() == {"permute_dims", "reshape"}


def test_it_computes_what_pytorch_computes() -> None:
    model, data = seeded(Attention()), random_input(3, TOKENS, UNITS)
    network = from_torch(model, data)
    torch.testing.assert_close(network.built(defaults(network))(data), result_of(model, data))


def test_permutations_that_move_nothing_are_reshapes() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            moved = data.permute(1, 0, 2).permute(2, 1, 0)
            back = data.permute(2, 0, 1).permute(1, 2, 0)
            unit = data.unsqueeze(0).permute(1, 0, 2, 3)
            return moved.cos(), back.cos(), unit.cos()

    data = random_input(2, 3, 4)
    network = from_torch(Model(), data)
    ops = Counter(step.op for step in network.steps if not isinstance(step, Layer))
    assert (ops["permute_dims"], ops["cos"]) == (1, 3)
    for found, expected in zip(network.built({})(data), result_of(Model(), data), strict=True):
        torch.testing.assert_close(found, expected)
