"""Operations that change nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.networks.graph import RESHAPES, Node, Rewriting, Value
from tunesmith.networks.simplify.slices import slices_of

# Of the shape that they have already, these give their input.
_TO_A_SHAPE = (*RESHAPES, "astype", "broadcast_to", "nn.adaptive_avg_pool2d")


def drop_identities(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:  # noqa: ARG001
    """The input of an operation that gives it back."""
    data = node.inputs[0] if node.inputs else None
    if data is None or data.shape != node.output.shape or data.dtype != node.output.dtype:
        return None
    if node.op == "nn.dropout":
        ones = (Value.of(np.ones(mask.shape, mask.dtype)) for mask in node.outputs[1:])
        return [data, *ones]
    return [data] if _is_identity(node) else None


def _is_identity(node: Node) -> bool:
    """Whether an operation whose result is of the shape and type of its input gives that back."""
    if node.op == "permute_dims":
        return bool(node.attributes["axes"] == tuple(range(len(node.output.shape))))
    if node.op == "strided_slice":  # not backwards
        taken = slices_of(node)
        return taken is not None and all(part.step == 1 for part in taken)
    if node.op == "multiply":
        factor = node.inputs[1].constant
        return factor is not None and bool(np.all(factor == 1))
    return node.op in _TO_A_SHAPE
