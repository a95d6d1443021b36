"""Concatenations of concatenations."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import concatenated


def join_concatenations(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """One along an axis in place of one whose inputs are others along that axis."""
    if node.op != "concat":
        return None
    axis = _axis(node)
    inputs: list[Value] = []
    for value in node.inputs:
        before = rewriting.producer(value)
        joined = before is not None and before.op == "concat" and _axis(before) == axis
        inputs += before.inputs if joined and before is not None else (value,)
    if len(inputs) == len(node.inputs):
        return None
    return [concatenated(rewriting, tuple(inputs), axis)]


def _axis(node: Node) -> int:
    return int(node.attributes["axis"] or 0) % len(node.output.shape)
