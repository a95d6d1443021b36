"""Means over images, as pooling."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import average_pool, reshape


def means_as_pooling(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """Adaptive pooling whose windows are alike, and means over height and width."""
    if not node.inputs or len(node.inputs[0].shape) != 4:
        return None
    (data,) = node.inputs[:1]
    height, width = data.shape[2:]
    if node.op == "nn.adaptive_avg_pool2d" and node.attributes["layout"] == "NCHW":
        rows, columns = node.output.shape[2:]
        if height % rows or width % columns:
            return None
        return [average_pool(rewriting, data, (height // rows, width // columns))]
    if node.op == "mean":
        axes = sorted(axis % 4 for axis in node.attributes["axis"] or range(4))
        if axes != [2, 3]:
            return None
        pooled = average_pool(rewriting, data, (height, width))
        return [reshape(rewriting, pooled, node.output.shape)]
    return None
