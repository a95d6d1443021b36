"""Inputs that are indices, such as words: what they may be at most."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.networks.graph import Graph, Node, Value

# These hand an index on.
_SAME = ("astype", "reshape", "squeeze", "expand_dims", "permute_dims")

# They read or write at places that a tensor names, which may be computed, or count from the end.
_OTHER_LOOK_UPS = (
    "dynamic_strided_slice",
    "gather_elements",
    "gather_nd",
    "index_put",
    "index_tensor",
    "scatter_elements",
    "scatter_nd",
)


def index_bounds(graph: Graph) -> dict[Value, int]:
    """The inputs that are looked up in tables, and how many rows the smallest of these has.

    A look-up outside of a table would read any memory, or crash: calls check their inputs first.
    """
    found: dict[Value, int] = {}
    for node in graph.nodes:
        for index, rows in _indices(node):
            source = _source(graph, index)
            if source in graph.inputs:
                found[source] = min(rows, found.get(source, rows))
    return found


def unchecked_look_ups(graph: Graph) -> list[str]:
    """The operations whose indices ``index_bounds`` may not cover, and that are no constants."""
    return sorted({node.op for node in graph.nodes if _is_unchecked(graph, node)})


def _is_unchecked(graph: Graph, node: Node) -> bool:
    if node.op != "take":
        return node.op in _OTHER_LOOK_UPS
    source = _source(graph, node.inputs[1])
    if source.constant is None:
        return source not in graph.inputs
    indices = source.constant
    return bool(indices.size) and not 0 <= indices.min() <= indices.max() < _rows(node)


def _indices(node: Node) -> Sequence[tuple[Value, int]]:
    """The indices of a look-up, and how many places there are that each may name."""
    if node.op in ("take", "gather_elements"):
        return [(node.inputs[1], _rows(node))]
    if node.op == "index_tensor":  # one for each of the first axes
        table, *indices = node.inputs
        return list(zip(indices, table.shape, strict=False))
    return []


def _rows(node: Node) -> int:
    """How many rows the table of a look-up has."""
    return node.inputs[0].shape[node.attributes["axis"] or 0]


def _source(graph: Graph, value: Value) -> Value:
    """What a value is made from by operations that leave its elements as they are."""
    producer = graph.producers.get(value)
    while producer is not None and producer.op in _SAME:
        value = producer.inputs[0]
        producer = graph.producers.get(value)
    return value
