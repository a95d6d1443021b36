"""The elementwise operations that follow a product, as its epilogue."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from tunesmith.errors import UsageError
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
        try:
            longer = None if absorb is None else absorb(layer, layer.operator, user)
        except UsageError:  # the operator has no such epilogue, as for a type of elements
            return layer
        if longer is None:
            return layer
        layer = longer
    return layer


Absorb = Callable[[Layer, ProductOperator, Node], "Layer | None"]


def _post_op(layer: Layer, node: Node, text: str, *operands: Value) -> Layer:
    """The layer with one more post-op, which takes these operands."""
    operator = layer.operator
    assert isinstance(operator, ProductOperator)
    text = f"{operator.post_ops}+{text}" if operator.post_ops else text
    return layer.followed_by(node, operands, post_ops=text)


def _of_one(text: Callable[[Node], str | None]) -> Absorb:
    """An operation on the result alone, as the post-op that ``text`` says; None: there is none."""

    def absorb(layer: Layer, _: ProductOperator, node: Node) -> Layer | None:
        found = text(node)
        return None if found is None else _post_op(layer, node, found)

    return absorb


def _text(name: str, *numbers: float) -> str:
    """A post-op with its numbers; a plus sign would begin the next one."""
    return ":".join((name, *(repr(float(number)).replace("+", "") for number in numbers)))


def _clip(node: Node) -> str | None:
    low, high = node.attributes.get("min"), node.attributes.get("max")
    return None if low is None or high is None else _text("clip", low, high)


def _relu(layer: Layer, operator: ProductOperator, node: Node) -> Layer:
    if operator.relu or operator.post_ops:
        return _post_op(layer, node, "relu")
    return layer.followed_by(node, relu=True)


def _add(layer: Layer, operator: ProductOperator, node: Node) -> Layer | None:
    """A bias, a residual, or a tensor that is added later."""
    other = _other(node, layer.output)
    if other is None or other.dtype != layer.output.dtype:
        return None
    begun = operator.relu or bool(operator.post_ops)
    number = _number(other)
    if number is not None:
        return _post_op(layer, node, _text("affine", 1.0, number))
    channels = _per_channel(other, layer, operator)
    if channels is not None and not (begun or operator.residual or operator.bias):
        return layer.followed_by(node, [channels], bias=True)
    if other.shape != layer.output.shape:
        return None
    if not (begun or operator.residual):
        return layer.followed_by(node, [other], residual=True)
    return _post_op(layer, node, "add", other)


def _subtract(layer: Layer, _: ProductOperator, node: Node) -> Layer | None:
    """A number that is subtracted."""
    number = _number(node.inputs[1])
    if number is None or node.inputs[0] is not layer.output:
        return None
    return _post_op(layer, node, _text("affine", 1.0, -number))


def _divide(layer: Layer, _: ProductOperator, node: Node) -> Layer | None:
    """A division by a number."""
    number = _number(node.inputs[1])
    if not number or node.inputs[0] is not layer.output:
        return None
    return _post_op(layer, node, _text("affine", 1 / number))


def _multiply(layer: Layer, operator: ProductOperator, node: Node) -> Layer | None:
    """A product with a number, with one per channel, or with a tensor."""
    other = _other(node, layer.output)
    if other is None or other.dtype != layer.output.dtype:
        return None
    number = _number(other)
    if number is not None:
        return _post_op(layer, node, _text("affine", number))
    channels = _per_channel(other, layer, operator)
    if channels is not None:
        return _post_op(layer, node, "scale", channels)
    return _post_op(layer, node, "multiply", other) if other.shape == layer.output.shape else None


def _other(node: Node, value: Value) -> Value | None:
    """The other operand of an operation on two; None if both are the same."""
    left, right = node.inputs
    return (right if left is value else left) if left is not right else None


def _number(value: Value) -> float | None:
    """The number that a constant with a single element is."""
    if value.constant is None or value.elements != 1:
        return None
    return float(value.constant.reshape(()))


def _per_channel(value: Value, layer: Layer, operator: ProductOperator) -> Value | None:
    """A constant with one number per channel, as a vector; None if it is none."""
    if value.constant is None:
        return None
    images = operator.channel_axis == 1
    channels = operator.output_shape[operator.channel_axis]
    expected = (channels, 1, 1) if images else (channels,)
    shape = layer.output.shape
    given = (1,) * (len(shape) - len(value.shape)) + value.shape
    if given != (1,) * (len(shape) - len(expected)) + expected:
        return None
    return Value.of(value.constant.reshape(channels), value.name)


_ABSORBED: Mapping[str, Absorb] = {
    "add": _add,
    "clip": _of_one(_clip),
    "divide": _divide,
    "hard_sigmoid": _of_one(lambda _: "hard_sigmoid"),
    "hard_swish": _of_one(lambda _: "hard_swish"),
    "multiply": _multiply,
    "nn.gelu": _of_one(lambda _: "gelu"),
    "nn.gelu_tanh": _of_one(lambda _: "gelu_tanh"),
    "nn.leakyrelu": _of_one(lambda node: _text("leaky_relu", node.attributes["alpha"])),
    "nn.relu": _relu,
    "nn.silu": _of_one(lambda _: "silu"),
    "subtract": _subtract,
    "sigmoid": _of_one(lambda _: "sigmoid"),
    "tanh": _of_one(lambda _: "tanh"),
}
