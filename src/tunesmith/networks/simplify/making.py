"""Nodes that simplifications make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def concatenated(rewriting: Rewriting, parts: tuple[Value, ...], axis: int) -> Value:
    """Tensors one after the other along an axis."""
    from tvm import relax

    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return _made(
        rewriting,
        "concat",
        parts,
        tuple(shape),
        lambda *values: relax.op.concat(list(values), axis),
        axis=axis,
    )


def sliced(
    rewriting: Rewriting, data: Value, first: tuple[int, ...], ends: tuple[int, ...]
) -> Value:
    """The part of a tensor between two indices of each axis; ``data`` if that is all."""
    from tvm import relax

    if not any(first) and ends == data.shape:
        return data
    axes = [axis for axis, extent in enumerate(data.shape) if ends[axis] - first[axis] < extent]

    def emit(value: Any) -> Any:
        begins, stops = ([given[axis] for axis in axes] for given in (first, ends))
        return relax.op.strided_slice(value, axes, begins, stops)

    shape = tuple(end - begin for begin, end in zip(first, ends, strict=True))
    return _made(rewriting, "sliced", (data,), shape, emit, first=first, ends=ends)


def permuted(rewriting: Rewriting, data: Value, axes: tuple[int, ...]) -> Value:
    """The tensor with its axes in another order; ``data`` if that is theirs."""
    from tvm import relax

    if axes == tuple(range(len(axes))):
        return data
    return _made(
        rewriting,
        "permute_dims",
        (data,),
        tuple(data.shape[axis] for axis in axes),
        lambda value: relax.op.permute_dims(value, list(axes)),
        axes=axes,
    )


def matmul(rewriting: Rewriting, left: Value, right: Value) -> Value:
    """The products of two batches of matrices, (b, m, k) and (b, k, n)."""
    from tvm import relax

    shape = (*left.shape[:-1], right.shape[-1])
    return _made(rewriting, "matmul", (left, right), shape, relax.op.matmul)


def matmul_nt(rewriting: Rewriting, left: Value, right: Value) -> Value:
    """The same for matrices on the right that are transposed: (b, n, k)."""
    from tvm import relax

    def emit(left: Any, right: Any) -> Any:
        return relax.op.matmul(left, relax.op.permute_dims(right, [0, 2, 1]))

    shape = (*left.shape[:-1], right.shape[-2])
    return _made(rewriting, "matmul_nt", (left, right), shape, emit)


def softmax(rewriting: Rewriting, data: Value) -> Value:
    """Softmax over the last axis."""
    from tvm import relax

    return _made(rewriting, "nn.softmax", (data,), data.shape, relax.op.nn.softmax, axis=-1)


def affine(rewriting: Rewriting, data: Value, factor: float) -> Value:
    """A tensor times a number."""
    return multiply(rewriting, data, Value.of(np.array(factor, data.dtype)))


def average_pool(
    rewriting: Rewriting, data: Value, kernel: tuple[int, ...], strides: tuple[int, ...]
) -> Value:
    """Means of windows of an NCHW tensor, none of which is padded."""
    from tvm import relax

    image = (
        (size - length) // step + 1
        for size, length, step in zip(data.shape[2:], kernel, strides, strict=True)
    )
    attributes = {
        "pool_size": kernel,
        "strides": strides,
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
        (*data.shape[:2], *image),
        lambda value: relax.op.nn.avg_pool2d(value, kernel, strides),
        **attributes,
    )


def reduction(rewriting: Rewriting, op: str, data: Value, axes: tuple[int, ...]) -> Value:
    """A mean, a sum, a maximum or a minimum over axes, which stay with one element each."""
    from tvm import relax

    function = getattr(relax.op, op)
    return _made(
        rewriting,
        op,
        (data,),
        tuple(1 if axis in axes else size for axis, size in enumerate(data.shape)),
        lambda value: function(value, list(axes), keepdims=True),
        axis=axes,
        keepdims=True,
    )


def with_attributes(
    rewriting: Rewriting, node: Node, inputs: tuple[Value, ...], changed: Mapping[str, Any]
) -> Value:
    """The result of an operation on other inputs, with some other attributes."""
    from tvm import relax

    attributes = {**node.attributes, **changed}
    function = getattr(relax.op.nn, node.op.removeprefix("nn."))
    return _made(
        rewriting,
        node.op,
        inputs,
        node.output.shape,
        lambda *values: function(*values, **attributes),
        **attributes,
    )


def convolution(
    rewriting: Rewriting,
    op: str,
    inputs: tuple[Value, Value],
    shape: tuple[int, ...],
    attributes: Mapping[str, Any],
) -> Value:
    """A convolution of some kind, whose result has this shape."""
    from tvm import relax

    function = getattr(relax.op.nn, op.removeprefix("nn."))
    return _made(
        rewriting, op, inputs, shape, lambda *values: function(*values, **attributes), **attributes
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


def maximum(rewriting: Rewriting, data: Value, number: float) -> Value:
    """The larger of each element and a number, which is of the tensor's type."""
    from tvm import relax

    bound = Value.of(np.array(number).astype(data.dtype))
    return _made(rewriting, "maximum", (data, bound), data.shape, relax.op.maximum)


def minimum(rewriting: Rewriting, data: Value, number: float) -> Value:
    """The smaller of each element and a number, which is of the tensor's type."""
    from tvm import relax

    bound = Value.of(np.array(number).astype(data.dtype))
    return _made(rewriting, "minimum", (data, bound), data.shape, relax.op.minimum)


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
