"""The elementwise operations that follow a product, as its epilogue."""

from __future__ import annotations

from collections.abc import Callable, Container

from tunesmith.networks.graph import Graph, Node, Value
from tunesmith.networks.layers.layer import Layer
from tunesmith.operators import ProductOperator


def with_epilogue(layer: Layer, graph: Graph, taken: Container[Node]) -> Layer:
    """The layer with the operations that follow it, as far as an epilogue has them.

    Only operations that alone read what is before them, for other readers would miss it, and none
    that another layer has ``taken``.
    """
    while isinstance(layer.operator, ProductOperator):
        user = graph.only_user(layer.output)
        if user is None or user in taken or user.output.shape != layer.output.shape:
            return layer
        absorb = _ABSORBED.get(user.op)
        longer = None if absorb is None else absorb(layer, user)
        if longer is None:
            return layer
        layer = longer
    return layer


def _add(layer: Layer, node: Node) -> Layer | None:
    """A bias or a residual."""
    operator = layer.operator
    assert isinstance(operator, ProductOperator)
    if operator.relu or operator.residual:
        return None
    other = _other(node, layer.output)
    if other is None or other.dtype != layer.output.dtype:
        return None
    bias = None if operator.bias else _per_channel(other, layer)
    if bias is not None:
        return layer.followed_by(node, [bias], bias=True)
    if other.shape != layer.output.shape:
        return None
    return layer.followed_by(node, [other], residual=True)


def _relu(layer: Layer, node: Node) -> Layer | None:
    operator = layer.operator
    assert isinstance(operator, ProductOperator)
    return None if operator.relu else layer.followed_by(node, relu=True)


def _other(node: Node, value: Value) -> Value | None:
    """The other operand of an operation on two; None if both are the same."""
    left, right = node.inputs
    return (right if left is value else left) if left is not right else None


def _per_channel(value: Value, layer: Layer) -> Value | None:
    """A constant with one number per channel, as a vector; None if it is none."""
    operator, shape = layer.operator, layer.output.shape
    assert isinstance(operator, ProductOperator)
    if value.constant is None:
        return None
    images = operator.channel_axis == 1
    channels = operator.output_shape[operator.channel_axis]
    expected = (channels, 1, 1) if images else (channels,)
    leading = len(shape) - len(expected)
    given = (1,) * (len(shape) - len(value.shape)) + value.shape
    if given != (1,) * leading + expected:
        return None
    return Value.of(value.constant.reshape(channels), value.name)


_ABSORBED: dict[str, Callable[[Layer, Node], Layer | None]] = {
    "add": _add,
    "nn.relu": _relu,
}
