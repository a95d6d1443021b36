"""Look-ups in tables."""

from __future__ import annotations

import math

from tunesmith.networks.graph import Node
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.operators import embedding


def match_take(node: Node) -> Layer | None:
    """Rows of a constant table."""
    table, indices = node.inputs
    if table.constant is None or node.attributes["axis"] != 0:
        return None
    operator = embedding(
        n=indices.elements,
        rows=table.shape[0],
        width=math.prod(table.shape[1:]),
        index_dtype=indices.dtype,
        dtype=table.dtype,
    )
    return new_layer(operator, (indices, table), node)
