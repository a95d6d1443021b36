"""Nodes that simplifications make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tunesmith.networks.graph import Node, Rewriting, Value


def _made(
    rewriting: Rewriting,
    op: str,
    inputs: tuple[Value, ...],
    made: tuple[int, ...],
    emit: Callable[..., Any],
    **attributes: Any,
) -> Value:
    """The result of a new node; its shape is ``made``."""
    output = Value(made, inputs[0].dtype)
    return rewriting.add(Node(op, inputs, (output,), lambda values: emit(*values), attributes))


def add(rewriting: Rewriting, left: Value, right: Value) -> Value:
    """Their sum."""
    from tvm import relax

    shape = np.broadcast_shapes(left.shape, right.shape)
    return _made(rewriting, "add", (left, right), shape, relax.op.add)


def multiply(rewriting: Rewriting, left: Value, right: Value) -> Value:
    """Their product, element by element."""
    from tvm import relax

    shape = np.broadcast_shapes(left.shape, right.shape)
    return _made(rewriting, "multiply", (left, right), shape, relax.op.multiply)


def reshape(rewriting: Rewriting, data: Value, shape: tuple[int, ...]) -> Value:
    """The same elements in the same order, in another shape; ``data`` if it has that shape."""
    from tvm import relax

    if data.shape == shape:
        return data
    return _made(
        rewriting,
        "reshape",
        (data,),
        shape,
        lambda value: relax.op.reshape(value, shape),
        shape=shape,
    )


def average_pool(rewriting: Rewriting, data: Value, kernel: tuple[int, int]) -> Value:
    """Means of windows of an NCHW tensor that lie side by side."""
    from tvm import relax

    n, c, h, w = data.shape
    attributes = {
        "pool_size": kernel,
        "strides": kernel,
        "padding": (0, 0, 0, 0),
        "dilation": (1, 1),
        "ceil_mode": False,
        "count_include_pad": False,
        "layout": "NCHW",
    }
    return _made(
        rewriting,
        "nn.avg_pool2d",
        (data,),
        (n, c, h // kernel[0], w // kernel[1]),
        lambda value: relax.op.nn.avg_pool2d(value, kernel, kernel),
        **attributes,
    )


def clip(rewriting: Rewriting, data: Value, low: float, high: float) -> Value:
    """Values between two bounds."""
    from tvm import relax

    return _made(
        rewriting,
        "clip",
        (data,),
        data.shape,
        lambda value: relax.op.clip(value, low, high),
        min=low,
        max=high,
    )


def silu(rewriting: Rewriting, data: Value) -> Value:
    """``data * sigmoid(data)``."""
    from tvm import relax

    return _made(rewriting, "nn.silu", (data,), data.shape, relax.op.nn.silu)


def hard_sigmoid(rewriting: Rewriting, data: Value) -> Value:
    """``data / 6 + 1/2`` between 0 and 1."""
    return _made(rewriting, "hard_sigmoid", (data,), data.shape, _hard_sigmoid)


def hard_swish(rewriting: Rewriting, data: Value) -> Value:
    """``data * hard_sigmoid(data)``."""
    from tvm import relax

    def emit(value: Any) -> Any:
        return relax.op.multiply(value, _hard_sigmoid(value))

    return _made(rewriting, "hard_swish", (data,), data.shape, emit)


def _hard_sigmoid(value: Any) -> Any:
    from tvm import relax

    sixth = relax.op.multiply(value, relax.const(1 / 6, "float32"))
    return relax.op.clip(relax.op.add(sixth, relax.const(0.5, "float32")), 0.0, 1.0)
