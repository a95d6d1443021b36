"""Our operators by NumPy: by its matrix product, and rows and windows in a few passes each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.kernel.arrays import ALIGNMENT
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Dense,
    Embedding,
    LayerNorm,
    Matmul,
    Operator,
    Padding,
    Pool2d,
    ProductOperator,
    Reduce,
    Softmax,
    sides,
)

Call = Callable[[], Any]


def numpy_call(operator: Operator, inputs: Sequence[Any], _cores: int) -> Call:
    """A call that returns the operator's result, the same array each time.

    Inputs are copied into aligned memory, in which the result lies, too. BLAS has its threads from
    the environment. Raises ``UsageError`` for convolutions in groups, transposed ones, and images
    in NHWC.
    """
    if not isinstance(operator, ProductOperator):
        return _without_products(operator, [aligned_copy(array) for array in inputs])
    data, weight, *extra = map(aligned_copy, inputs)
    result = aligned(operator.output_shape, data.dtype)
    products = _products(operator, data, weight, result)
    trailing = (1,) * (-1 - operator.channel_axis % -len(operator.output_shape))
    bias = extra[0].reshape(-1, *trailing) if operator.bias else None
    residual = extra[-1] if operator.residual else None

    def call() -> Any:
        products()
        for addend in (bias, residual):
            if addend is not None:
                np.add(result, addend, out=result)
        return np.maximum(result, 0, out=result) if operator.relu else result

    return call


def _without_products(operator: Operator, arrays: Sequence[Any]) -> Call:
    result = aligned(operator.result.shape, operator.result.numpy_dtype)
    if isinstance(operator, Softmax):
        return _softmax(arrays[0], result)
    if isinstance(operator, LayerNorm):
        data, gamma, beta = arrays
        return _layer_norm(operator, data, gamma, beta, result)
    if isinstance(operator, Pool2d) and operator.layout == "NCHW":
        return _pool(operator, arrays[0], result)
    if isinstance(operator, Reduce):
        function = getattr(np, operator.kind)
        return lambda: function(arrays[0], axis=1, out=result)
    if isinstance(operator, Embedding):
        indices, table = arrays
        return lambda: np.take(table, indices, axis=0, out=result, mode="clip")
    raise UsageError(f"NumPy is not compared for {operator.label}")


def aligned(shape: tuple[int, ...], dtype: Any, offset: int = 0) -> Any:
    """A new array, zero everywhere, that starts at a multiple of 64 bytes; NumPy's need not.

    Or it starts ``offset`` bytes after that.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + offset + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT + offset
    return memory[start : start + size].view(dtype).reshape(shape)


def aligned_copy(array: Any, offset: int = 0) -> Any:
    """The same values in such an array."""
    copy = aligned(array.shape, array.dtype, offset)
    copy[...] = array
    return copy


def _products(operator: ProductOperator, data: Any, weight: Any, result: Any) -> Call:
    if isinstance(operator, Matmul):
        return lambda: np.matmul(data, weight, out=result)
    if isinstance(operator, BatchMatmul):
        left = data.swapaxes(1, 2) if operator.transpose == "TN" else data
        right = weight.swapaxes(1, 2) if operator.transpose == "NT" else weight
        return lambda: np.matmul(left, right, out=result)
    if isinstance(operator, Dense):
        columns = aligned_copy(weight.T) if operator.constant_weights else weight.T
        return lambda: np.matmul(data, columns, out=result)
    if isinstance(operator, Conv2d) and operator.layout == "NCHW" and operator.groups == 1:
        return _convolution(operator, data, weight, result)
    raise UsageError(f"NumPy is not compared for {operator.label}")


def _convolution(operator: Conv2d, data: Any, weight: Any, result: Any) -> Call:
    """All windows side by side (im2col), unless each is a pixel, times the weights."""
    rows = weight.reshape(operator.co, -1)
    matrices = result.reshape(operator.n, operator.co, -1)
    if (operator.kernel, operator.stride, operator.padding) == ((1, 1), (1, 1), (0, 0)):
        pixels = data.reshape(operator.n, operator.ci, -1)
        return lambda: np.matmul(rows, pixels, out=matrices)
    padded, inside = _padded(data, operator.padding)
    (down, across), (dy, dx) = operator.stride, operator.dilation
    high, wide = operator.kernel
    extent = (dy * (high - 1) + 1, dx * (wide - 1) + 1)
    every = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(2, 3))
    windows = every[:, :, ::down, ::across, ::dy, ::dx].transpose(0, 1, 4, 5, 2, 3)
    gathered = aligned(windows.shape, data.dtype)
    columns = gathered.reshape(operator.n, rows.shape[1], -1)

    def call() -> Any:
        inside[...] = data
        gathered[...] = windows
        return np.matmul(rows, columns, out=matrices)

    return call


def _softmax(data: Any, result: Any) -> Call:
    """A call that writes each row's softmax to ``result``, and returns that."""

    def call() -> Any:
        np.subtract(data, data.max(axis=1, keepdims=True), out=result)
        np.exp(result, out=result)
        return np.divide(result, result.sum(axis=1, keepdims=True), out=result)

    return call


def _layer_norm(operator: LayerNorm, data: Any, gamma: Any, beta: Any, result: Any) -> Call:
    """The same for layer normalisation."""
    eps = np.float32(operator.eps)

    def call() -> Any:
        np.subtract(data, data.mean(axis=1, keepdims=True), out=result)
        squares = np.einsum("ij,ij->i", result, result)[:, None]
        np.multiply(result, 1 / np.sqrt(squares / operator.n + eps), out=result)
        np.multiply(result, gamma, out=result)
        return np.add(result, beta, out=result)

    return call


def _padded(data: Any, padding: Padding) -> tuple[Any, Any]:
    """Memory for images with zeros around them, and the part of it where the images go."""
    n, channels, height, width = data.shape
    (top, bottom), (left, right) = sides(padding)
    padded = aligned((n, channels, top + height + bottom, left + width + right), data.dtype)
    return padded, padded[:, :, top : top + height, left : left + width]


def _pool(operator: Pool2d, data: Any, result: Any) -> Call:
    """The same for NCHW images: a tap after the other, each of all windows at once."""
    (down, across), (high, wide) = operator.stride, operator.output_image
    greatest = operator.kind == "max"
    join = np.maximum if greatest else np.add
    padded, inside = _padded(data, operator.reached_padding)
    padded[...] = -np.inf if greatest else 0
    taps = [
        padded[:, :, y : y + (high - 1) * down + 1 : down, x : x + (wide - 1) * across + 1 : across]
        for y in range(operator.kernel[0])
        for x in range(operator.kernel[1])
    ]
    share = None if greatest else _share(operator)

    def call() -> Any:
        inside[...] = data
        result[...] = taps[0]
        for tap in taps[1:]:
            join(result, tap, out=result)
        return result if share is None else np.multiply(result, share, out=result)

    return call


def _share(operator: Pool2d) -> Any:
    """By what the sum of each window is multiplied to give its mean."""
    return (1 / np.multiply.outer(operator.taps(0), operator.taps(1))).astype(np.float32)
