"""Reshapes, permutations and parts of tensors, several of them as one copy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, seeded, torch
from tests.properties import examples
from tunesmith.networks import from_torch
from tunesmith.networks.graph import Graph, Node, Rewriting, Value
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.simplify.making import permuted, reshape, sliced
from tunesmith.networks.simplify.views import View, join_views, view_of

SHAPE = (4, 6, 10)


def _elements(view: View, array: Any) -> Any:
    """What a view is of an array."""
    steps = [array.itemsize * step for _, step in view.axes]
    flat = array.reshape(-1)[view.offset :]
    return np.lib.stride_tricks.as_strided(flat, [extent for extent, _ in view.axes], steps)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Operations on a tensor of SHAPE, of which each fits the shape of the one before."""
    shape, found = list(SHAPE), []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(("reshape", "permute", "part", "join")))
        axis = draw(st.integers(0, len(shape) - 1))
        if kind == "permute":
            order = draw(st.permutations(range(len(shape))))
            shape = [shape[one] for one in order]
            found.append(("permute", tuple(order)))
        elif kind == "part" and shape[axis] > 1:
            first = draw(st.integers(0, shape[axis] - 1))
            end = draw(st.integers(first + 1, shape[axis]))
            found.append(("part", (axis, first, end)))
            shape[axis] = end - first
        elif kind == "reshape":
            factor = next((one for one in (2, 3, 5) if shape[axis] % one == 0), 1)
            shape[axis : axis + 1] = [shape[axis] // factor, factor]
            found.append(("reshape", tuple(shape)))
        elif axis + 1 < len(shape):
            shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
            found.append(("reshape", tuple(shape)))
    return found


@examples(200)
@given(steps())
def test_views_are_what_the_operations_give(operations: list[tuple[str, Any]]) -> None:
    """As nodes, with the rule applied to each: the last value is a view of its base, or what the
    rule could not join, and has the elements that NumPy finds."""
    source = Value(SHAPE, "float32")
    rewriting = Rewriting(Graph((source,), (), ()))
    arrays = {source: np.arange(np.prod(SHAPE)).reshape(SHAPE)}
    value, expected = source, arrays[source]
    for kind, given_ in operations:
        scratch = Rewriting(Graph((source,), (), ()))
        if kind == "permute":
            made, expected = permuted(scratch, value, given_), expected.transpose(given_)
        elif kind == "reshape":
            made, expected = reshape(scratch, value, given_), expected.reshape(given_)
        else:
            axis, first, end = given_
            begins = tuple(first if one == axis else 0 for one in range(expected.ndim))
            ends = tuple(
                end if one == axis else extent for one, extent in enumerate(expected.shape)
            )
            made = sliced(scratch, value, begins, ends)
            expected = expected.take(range(first, end), axis)
        node = scratch.producer(made)
        if node is None:
            continue
        joined = join_views(node, rewriting)
        value = rewriting.add(node) if joined is None else joined[0]
        assert value.shape == expected.shape
        view = view_of(value, rewriting)
        np.testing.assert_array_equal(_evaluated(value, rewriting, arrays), expected)
        if view.base is source:
            np.testing.assert_array_equal(_elements(view, arrays[source]), expected)


def _evaluated(value: Value, rewriting: Rewriting, arrays: dict[Value, Any]) -> Any:
    """The elements of a value, by the nodes that make it."""
    if value in arrays:
        return arrays[value]
    node = rewriting.producer(value)
    assert isinstance(node, Node)
    data, given_ = _evaluated(node.inputs[0], rewriting, arrays), node.attributes
    if node.op == "permute_dims":
        return data.transpose(given_["axes"])
    if node.op == "reshape":
        return data.reshape(given_["shape"])
    assert node.op == "sliced"
    parts = zip(given_["first"], given_["ends"], strict=True)
    return data[tuple(slice(first, end) for first, end in parts)]


class Packed(torch.nn.Module):  # type: ignore[misc]
    """Query, key and value by one product, as in PyTorch's multi-head attention."""

    def __init__(self, units: int = 12, heads: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.inner = torch.nn.Linear(units, 3 * units)

    def forward(self, data: Any) -> Any:
        tokens, batch, units = data.shape
        packed = self.inner(data).unflatten(-1, (3, units)).unsqueeze(0)
        query, key, value = packed.transpose(0, -2).squeeze(-2).contiguous()
        by_heads = (
            one.view(tokens, batch * self.heads, -1)
            .transpose(0, 1)
            .view(batch, self.heads, tokens, -1)
            for one in (query, key, value)
        )
        found = torch.nn.functional.scaled_dot_product_attention(*by_heads)
        return found.permute(2, 0, 1, 3).reshape(tokens, batch, units)


def test_packed_attention_copies_each_part_once() -> None:
    model, data = seeded(Packed()), random_input(5, 1, 12)
    network = from_torch(model, data)
    rest = Counter(step.op for step in network.steps if not isinstance(step, Layer))
    assert rest["sliced"] == 3
    assert rest["permute_dims"] == 4  # of query, key, value and the result
    assert rest.keys() == {"sliced", "permute_dims", "reshape"}
    torch.testing.assert_close(network.built(defaults(network))(data), result_of(model, data))


def test_concatenations_are_joined() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            inner = torch.cat([data, data.cos()], 1)
            other = torch.cat([data.sin(), data.sin()], 0)
            return torch.cat([inner, data], 1), torch.cat([other, other], 1)

    data = random_input(2, 3, 4)
    network = from_torch(Model(), data)
    shapes = [
        [value.shape for value in step.inputs]
        for step in network.steps
        if not isinstance(step, Layer) and step.op == "concat"
    ]
    assert sorted(shapes) == [[(2, 3, 4)] * 2, [(2, 3, 4)] * 3, [(4, 3, 4)] * 2]
    for found, expected in zip(network.built({})(data), result_of(Model(), data), strict=True):
        torch.testing.assert_close(found, expected)
