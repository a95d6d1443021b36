"""Inputs that are indices, such as words: what they may be at most."""

from __future__ import annotations

from tunesmith.networks.graph import Graph, Value

# These hand an index on.
_SAME = ("astype", "reshape", "squeeze", "expand_dims", "permute_dims")


def index_bounds(graph: Graph) -> dict[Value, int]:
    """The inputs that are looked up in tables, and how many rows the smallest of these has.

    A look-up outside of a table would read any memory, or crash: calls check their inputs first.
    """
    found: dict[Value, int] = {}
    for node in graph.nodes:
        if node.op != "take":
            continue
        table, index = node.inputs
        source = _source(graph, index)
        if source in graph.inputs:
            rows = table.shape[node.attributes["axis"] or 0]
            found[source] = min(rows, found.get(source, rows))
    return found


def _source(graph: Graph, value: Value) -> Value:
    """What a value is made from by operations that leave its elements as they are."""
    producer = graph.producers.get(value)
    while producer is not None and producer.op in _SAME:
        value = producer.inputs[0]
        producer = graph.producers.get(value)
    return value
