"""Our operators by NumPy, above all by its matrix product."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tunesmith.bench.peers import numpy_rows
from tunesmith.errors import UsageError
from tunesmith.kernel.arrays import ALIGNMENT
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Dense,
    LayerNorm,
    Matmul,
    Operator,
    Pool2d,
    ProductOperator,
    Softmax,
)


def numpy_call(operator: Operator, inputs: Sequence[Any], _cores: int) -> Callable[[], Any]:
    """A call that returns the operator's result, the same array each time.

    BLAS has its threads from the environment.

    Inputs are copied into aligned memory, in which the result lies, too. Raises ``UsageError`` for
    convolutions in groups, transposed ones, and images in NHWC.
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


def _without_products(operator: Operator, arrays: Sequence[Any]) -> Callable[[], Any]:
    result = aligned(operator.result.shape, arrays[0].dtype)
    if isinstance(operator, Softmax):
        return numpy_rows.softmax(arrays[0], result)
    if isinstance(operator, LayerNorm):
        data, gamma, beta = arrays
        return numpy_rows.layer_norm(operator, data, gamma, beta, result)
    if isinstance(operator, Pool2d) and operator.layout == "NCHW":
        image = (operator.h, operator.w)
        high, wide = (size + 2 * pad for size, pad in zip(image, operator.padding, strict=True))
        padded = aligned((operator.n, operator.c, high, wide), arrays[0].dtype)
        return numpy_rows.pool(operator, arrays[0], padded, result)
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


def _products(operator: ProductOperator, data: Any, weight: Any, result: Any) -> Callable[[], Any]:
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


def _convolution(operator: Conv2d, data: Any, weight: Any, result: Any) -> Callable[[], Any]:
    """All windows side by side (im2col), unless each is a pixel, times the weights."""
    rows = weight.reshape(operator.co, -1)
    matrices = result.reshape(operator.n, operator.co, -1)
    if (operator.kernel, operator.stride, operator.padding) == ((1, 1), (1, 1), (0, 0)):
        pixels = data.reshape(operator.n, operator.ci, -1)
        return lambda: np.matmul(rows, pixels, out=matrices)
    (below, right), (down, across) = operator.padding, operator.stride
    n, channels, height, width = data.shape
    padded = aligned((n, channels, height + 2 * below, width + 2 * right), data.dtype)
    inside = padded[:, :, below : below + height, right : right + width]
    extent = [
        step * (taps - 1) + 1 for step, taps in zip(operator.dilation, operator.kernel, strict=True)
    ]
    every = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(2, 3))
    taps = every[:, :, ::down, ::across, :: operator.dilation[0], :: operator.dilation[1]]
    windows = taps.transpose(0, 1, 4, 5, 2, 3)
    gathered = aligned(windows.shape, data.dtype)
    columns = gathered.reshape(n, rows.shape[1], -1)

    def call() -> Any:
        inside[...] = data
        gathered[...] = windows
        return np.matmul(rows, columns, out=matrices)

    return call
