"""Operations that change nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.networks.graph import RESHAPES, Node, Rewriting, Value

# Of the shape that they have already, these give their input.
_TO_A_SHAPE = (*RESHAPES, "broadcast_to", "nn.adaptive_avg_pool2d", "strided_slice")


def drop_identities(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:  # noqa: ARG001
    """The input of an operation that gives it back."""
    data = node.inputs[0] if node.inputs else None
    if data is None or data.shape != node.output.shape or data.dtype != node.output.dtype:
        return None
    if node.op in _TO_A_SHAPE or node.op == "astype":
        return [data]
    if node.op == "permute_dims":
        axes = node.attributes["axes"]
        return [data] if axes == tuple(range(len(data.shape))) else None
    if node.op == "nn.dropout":
        return [data, *node.outputs[1:]]
    return None
