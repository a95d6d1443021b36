"""Elementwise nodes as post-ops: what products absorb, and chains consist of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tunesmith.networks.graph import Node, Value


@dataclass(frozen=True)
class Channels:
    """Where the channels of a tensor are: it has n * c * inner elements, in this order.

    A channel is one or several neighbouring axes of the tensor.
    """

    n: int
    c: int
    inner: int


@dataclass(frozen=True)
class NodePostOps:
    """The post-ops that a node is, as ``text``, and the tensor that one of them takes.

    ``channels`` are those of a tensor with one number per channel.
    """

    text: str
    operands: tuple[Value, ...] = ()
    channels: Channels | None = None


def post_ops_of(node: Node, value: Value, channels: Channels | None) -> NodePostOps | None:
    """A node as post-ops on one of its inputs; None if it is none.

    Another input may be a number, a tensor like ``value``, or one with a number for each of
    ``channels``: if these are None, of any neighbouring axes.
    """
    if node.output.shape != value.shape or node.output.dtype != value.dtype:
        return None
    if node.op in _OF_TWO and node.inputs[0] is not node.inputs[1]:
        return _of_two(node, value, channels)
    text = _OF_ONE[node.op](node) if node.op in _OF_ONE else _OF_THE_SAME.get(node.op)
    return None if text is None else NodePostOps(text)


def _of_two(node: Node, value: Value, channels: Channels | None) -> NodePostOps | None:
    left, right = node.inputs
    other = right if left is value else left
    if other.dtype != value.dtype:
        return None
    texts = _OF_TWO[node.op][0 if left is value else 1]
    number = _number(other)
    if number is not None:
        text = texts.number(number)
        return None if text is None else NodePostOps(text)
    if left is value:
        texts, other = _without_inverse(node.op, texts, other)
    operand, of_channel = _operand(other, value.shape, channels)
    text = texts.element if of_channel is None else texts.channel
    return None if operand is None or text is None else NodePostOps(text, (operand,), of_channel)


def joined(text: str, further: str) -> str:
    """Post-ops, and others after them."""
    return f"{text}+{further}" if text else further


# -- the other operand ----------------------------------------------------------------------------


def _operand(
    other: Value, shape: tuple[int, ...], channels: Channels | None
) -> tuple[Value | None, Channels | None]:
    """The tensor that a post-op takes, and the channels that it has a number for each of.

    Without channels it is a tensor of the shape; no tensor means that it is neither.
    """
    found = channels_along(other.shape, shape)
    same = found is not None and other.elements == math.prod(shape)
    fitting = found is not None and (channels is None or channels == found)
    # A constant of both kinds is a bias of the only row.
    if same and not (fitting and channels is not None and other.constant is not None):
        return other, None
    if not fitting:
        return None, None
    if other.constant is not None:
        return Value.of(other.constant.reshape(-1), other.name), found
    return other, found


def channels_along(operand: tuple[int, ...], shape: tuple[int, ...]) -> Channels | None:
    """The neighbouring axes of a shape that an operand has the extents of, 1 along all others.

    None for an operand with other extents, and for one whose axes are not neighbours.
    """
    aligned = (1,) * (len(shape) - len(operand)) + operand
    if len(aligned) != len(shape):
        return None
    axes = [(whole, given) for whole, given in zip(shape, aligned, strict=True) if whole > 1]
    if any(given not in (1, whole) for whole, given in axes):
        return None
    along = [place for place, (_, given) in enumerate(axes) if given > 1]
    first, end = (along[0], along[-1] + 1) if along else (0, 0)
    if len(along) != end - first:
        return None
    extents = [whole for whole, _ in axes]
    return Channels(
        math.prod(extents[:first]), math.prod(extents[first:end]), math.prod(extents[end:])
    )


def _without_inverse(op: str, texts: _Texts, other: Value) -> tuple[_Texts, Value]:
    """The addition or multiplication that a subtraction of or division by a constant is."""
    constant = other.constant
    if constant is None or constant.dtype.kind != "f":
        return texts, other
    if op == "subtract":
        return _ADD, Value.of(-constant, other.name)
    if op == "divide" and np.all(constant):
        return _MULTIPLY, Value.of((1 / constant).astype(constant.dtype), other.name)
    return texts, other


def _number(value: Value) -> float | None:
    """The number that a constant with a single element is."""
    if value.constant is None or value.elements != 1:
        return None
    return float(value.constant.reshape(()))


# -- texts ----------------------------------------------------------------------------------------


def _text(name: str, *numbers: float) -> str:
    """A post-op with its numbers; a plus sign would begin the next one."""
    return ":".join((name, *(repr(float(number)).replace("+", "") for number in numbers)))


def _clip(node: Node) -> str | None:
    low, high = node.attributes.get("min"), node.attributes.get("max")
    return None if low is None or high is None else _text("clip", low, high)


def _named(name: str) -> Callable[[Node], str | None]:
    return lambda _: name


_OF_ONE: Mapping[str, Callable[[Node], str | None]] = {
    "abs": _named("abs"),
    "clip": _clip,
    "exp": _named("exp"),
    "hard_sigmoid": _named("hard_sigmoid"),
    "hard_swish": _named("hard_swish"),
    "negative": _named("negative"),
    "nn.gelu": _named("gelu"),
    "nn.gelu_tanh": _named("gelu_tanh"),
    "nn.leakyrelu": lambda node: _text("leaky_relu", node.attributes["alpha"]),
    "nn.relu": _named("relu"),
    "nn.silu": _named("silu"),
    "rsqrt": _named("rsqrt"),
    "sigmoid": _named("sigmoid"),
    "sqrt": _named("sqrt"),
    "square": _named("square"),
    "tanh": _named("tanh"),
}
"""Nodes of one tensor."""


@dataclass(frozen=True)
class _Texts:
    """The post-ops for another operand that is a number, a tensor, or has a number per channel."""

    number: Callable[[float], str | None]
    element: str | None = None
    channel: str | None = None


def _power(exponent: float) -> str:
    return {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt"}.get(exponent) or _text("power", exponent)


_MINUS_SHIFT = "negative+shift+negative"
_ADD = _Texts(lambda number: _text("affine", 1.0, number), "add", "shift")
_MULTIPLY = _Texts(lambda number: _text("affine", number), "multiply", "scale")
_MAXIMUM = _Texts(lambda number: _text("clip", number, math.inf), "maximum")
_MINIMUM = _Texts(lambda number: _text("clip", -math.inf, number), "minimum")
_OF_TWO: Mapping[str, tuple[_Texts, _Texts]] = {
    "add": (_ADD, _ADD),
    "multiply": (_MULTIPLY, _MULTIPLY),
    "maximum": (_MAXIMUM, _MAXIMUM),
    "minimum": (_MINIMUM, _MINIMUM),
    "subtract": (
        _Texts(lambda number: _text("affine", 1.0, -number), "subtract", _MINUS_SHIFT),
        _Texts(lambda number: _text("affine", -1.0, number), "negative+add", "negative+shift"),
    ),
    "divide": (
        _Texts(lambda number: _text("affine", 1 / number) if number else None, "divide"),
        _Texts(
            lambda number: "reciprocal" if number == 1 else f"reciprocal+{_text('affine', number)}",
            "reciprocal+multiply",
            "reciprocal+scale",
        ),
    ),
    "power": (_Texts(_power), _Texts(lambda _: None)),
}
"""Nodes of two: the value is the first one, or the second one."""

_OF_THE_SAME = {"add": _text("affine", 2.0), "multiply": "square"}
"""Nodes whose two tensors are the same one."""
