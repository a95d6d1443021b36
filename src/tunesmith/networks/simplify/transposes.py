"""Permutations of axes: one in place of several, and none where only axes of one element move."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import permuted, reshape


def join_transposes(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """A permutation of a permutation as one; a reshape of a reshape as one."""
    if node.op not in ("permute_dims", "reshape"):
        return None
    (data,) = node.inputs
    before = rewriting.producer(data)
    if node.op == "reshape":
        if before is None or before.op != "reshape":
            return None
        return [reshape(rewriting, before.inputs[0], node.output.shape)]
    axes = axes_of(node)
    if before is not None and before.op == "permute_dims":
        inner = axes_of(before)
        return [permuted(rewriting, before.inputs[0], tuple(inner[axis] for axis in axes))]
    if _keeps_order(data.shape, axes):
        return [reshape(rewriting, data, node.output.shape)]
    return None


def axes_of(node: Node) -> tuple[int, ...]:
    """The axes of a permutation; none given means that their order is reversed."""
    dimensions = len(node.inputs[0].shape)
    axes = node.attributes["axes"]
    if axes is None:
        return tuple(reversed(range(dimensions)))
    return tuple(axis % dimensions for axis in axes)


def _keeps_order(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether a permutation leaves all elements where they are in memory."""
    longer = [axis for axis in axes if shape[axis] > 1]
    return longer == sorted(longer)
