"""Steps of recurrent cells."""

from __future__ import annotations

from tunesmith.networks.graph import Node
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.operators import gru, lstm


def match_cell(node: Node) -> Layer:
    """All steps of one direction of a layer of LSTM or GRU."""
    _, weight, gates, _ = node.inputs
    steps, b, _ = gates.shape
    operator = {"lstm": lstm, "gru": gru}[node.op](
        steps=steps,
        b=b,
        units=weight.shape[1],
        # Of no meaning otherwise: tasks that are the same have the same options.
        reverse=node.attributes["reverse"] and steps > 1,
        dtype=gates.dtype,
        constant_weights=weight.constant is not None,
    )
    return new_layer(operator, node.inputs, node)
