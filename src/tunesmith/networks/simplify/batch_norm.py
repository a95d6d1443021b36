"""Batch norm of inference: into the weights and the bias of the convolution before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.networks.graph import Array, Node, Rewriting, Value
from tunesmith.networks.simplify.making import add, multiply

# The axis of the weights that the output channels are along.
_OUTPUT_CHANNELS = {
    "nn.conv1d": 0,
    "nn.conv1d_transpose": 1,
    "nn.conv2d": 0,
    "nn.conv2d_transpose": 1,
}


def fold_batch_norm(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """``conv(data, weights * scale) + shift``; without a convolution ``data * scale + shift``."""
    if node.op != "nn.batch_norm" or node.attributes["training"]:
        return None
    data, *statistics = node.inputs
    arrays = [value.constant for value in statistics]
    if any(array is None for array in arrays):
        return None
    gamma, beta, mean, variance = (np.asarray(array, np.float64) for array in arrays)
    scale = gamma / np.sqrt(variance + node.attributes["epsilon"])
    shift = beta - mean * scale
    convolution, bias = _convolution(data, rewriting)
    axis = node.attributes["axis"] % len(data.shape)
    if convolution is None or axis != 1:
        channel = _along(axis, len(data.shape))
        scaled = multiply(rewriting, data, _constant(scale.reshape(channel), data))
        result = add(rewriting, scaled, _constant(shift.reshape(channel), data))
    else:
        result = _folded(rewriting, convolution, scale, shift + bias * scale)
    return [result, *node.outputs[1:]]


def _convolution(data: Value, rewriting: Rewriting) -> tuple[Node | None, Array]:
    """The convolution whose results are normalised, and the bias that was added to them.

    None if others read these results, too: it would be computed twice.
    """
    bias = np.zeros(1)
    producer = rewriting.producer(data)
    if rewriting.readers(data) > 1:
        return None, bias
    if producer is not None and producer.op == "add":
        added = producer.inputs[1].constant
        if added is None or added.shape != _of_channels(data):
            return None, bias
        data = producer.inputs[0]
        producer = rewriting.producer(data)
        if rewriting.readers(data) > 1:
            return None, bias
        bias = added.reshape(-1).astype(np.float64)
    if producer is None or producer.op not in _OUTPUT_CHANNELS:
        return None, bias
    grouped = "transpose" in producer.op and producer.attributes["groups"] > 1
    known = producer.inputs[1].constant is not None
    return (producer if known and not grouped else None), bias


def _of_channels(data: Value) -> tuple[int, ...]:
    """The shape of a tensor with a number per channel of this one."""
    return (1, data.shape[1], *(1 for _ in data.shape[2:]))


def _folded(rewriting: Rewriting, convolution: Node, scale: Array, shift: Array) -> Value:
    data, weights = convolution.inputs
    array = weights.constant
    assert array is not None
    shape = [1] * array.ndim
    shape[_OUTPUT_CHANNELS[convolution.op]] = -1
    scaled = Value.of((array * scale.reshape(shape)).astype(array.dtype), weights.name)
    old = convolution.output
    output = Value(old.shape, old.dtype, old.name)
    rewriting.add(
        Node(convolution.op, (data, scaled), (output,), convolution.emit, convolution.attributes)
    )
    return add(rewriting, output, _constant(shift.reshape(_of_channels(output)), output))


def _along(axis: int, dimensions: int) -> tuple[int, ...]:
    return tuple(-1 if place == axis else 1 for place in range(dimensions))


def _constant(array: Array, like: Value) -> Value:
    return Value.of(array.astype(like.dtype))
