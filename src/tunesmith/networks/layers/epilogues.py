"""The elementwise operations that follow a product, as its epilogue."""

from __future__ import annotations

import math

from tunesmith.networks.graph import Node
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.layers.post_ops import Channels, joined, post_ops_of
from tunesmith.operators import ProductOperator


def with_node(layer: Layer, operator: ProductOperator, node: Node) -> Layer | None:
    """A product with one more operation that follows it; None if an epilogue cannot have it.

    Raises ``UsageError`` for one that the operator refuses, as for a type of elements.
    """
    found = post_ops_of(node, layer.output, _channels(operator))
    if found is None:
        return None
    if not (operator.relu or operator.post_ops):
        if found.text == "relu":
            return layer.followed_by(node, relu=True)
        if found.text == "shift" and not (operator.bias or operator.residual):
            return layer.followed_by(node, found.operands, bias=True)
        if found.text == "add" and not operator.residual:
            return layer.followed_by(node, found.operands, residual=True)
    return layer.followed_by(node, found.operands, post_ops=joined(operator.post_ops, found.text))


def _channels(operator: ProductOperator) -> Channels:
    shape = operator.output_shape
    axis = operator.channel_axis % len(shape)
    return Channels(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
