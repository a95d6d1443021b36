"""Chains of elementwise operations that no product absorbs, as layers of their own."""

from __future__ import annotations

from typing import Any

from tunesmith.networks.graph import Node, Value
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.networks.layers.post_ops import Channels, joined, post_ops_of
from tunesmith.operators import Elementwise, Operand, elementwise

# A post-op may use its value several times, and TVM writes it out each time.
_LONGEST = 8


def match_elementwise(node: Node) -> Layer | None:
    """The first operation of a chain, on the first of its inputs that has the result's shape."""
    for value in node.inputs:
        if value.constant is not None:
            continue
        found = post_ops_of(node, value, None)
        if found is not None:
            operator = elementwise(
                **_sizes(value, found.channels), post_ops=found.text, dtype=value.dtype
            )
            return new_layer(operator, (value, *found.operands), node)
    return None


def with_node(layer: Layer, operator: Elementwise, node: Node) -> Layer | None:
    """A chain with one more operation; None if that is none, or for other channels.

    Raises ``UsageError`` for one that the operator refuses, as for a type of elements.
    """
    channels = _channels(operator)
    found = post_ops_of(node, layer.output, channels)
    if found is None or len(operator.epilogue.post_ops) >= _LONGEST:
        return None
    return layer.followed_by(
        node,
        found.operands,
        post_ops=joined(operator.post_ops, found.text),
        **_sizes(layer.output, channels or found.channels),
    )


def _sizes(value: Value, channels: Channels | None) -> dict[str, Any]:
    if channels is None:
        return {"n": 1, "c": 1, "inner": value.elements}
    return {"n": channels.n, "c": channels.c, "inner": channels.inner}


def _channels(operator: Elementwise) -> Channels | None:
    """Those that the chain has numbers for; None if it has none."""
    if all(kind is not Operand.CHANNEL for _, kind in operator.epilogue.operands):
        return None
    return Channels(operator.n, operator.c, operator.inner)
