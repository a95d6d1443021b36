"""Our operators by NumPy's matrix product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.operators import BatchMatmul, Conv2d, Dense, Matmul, Operator, ProductOperator


def numpy_call(operator: Operator, inputs: Sequence[Any]) -> Callable[[], Any]:
    """A call that returns the operator's result, on arrays of its own element type.

    Raises ``UsageError`` for other operators than matrix products and convolutions of NCHW images
    in one group.
    """
    if not isinstance(operator, ProductOperator):
        raise UsageError(f"NumPy is not compared for {operator.name}")
    data, weight, *extra = inputs
    products = _products(operator, data, weight)
    trailing = (1,) * (-1 - operator.channel_axis % -len(operator.output_shape))
    bias = extra[0].reshape(-1, *trailing) if operator.bias else None
    residual = extra[-1] if operator.residual else None

    def call() -> Any:
        result = products()
        for addend in (bias, residual):
            if addend is not None:
                np.add(result, addend, out=result)
        return np.maximum(result, 0, out=result) if operator.relu else result

    return call


def _products(operator: ProductOperator, data: Any, weight: Any) -> Callable[[], Any]:
    if isinstance(operator, Matmul):
        return lambda: data @ weight
    if isinstance(operator, BatchMatmul):
        left = data.swapaxes(1, 2) if operator.transpose == "TN" else data
        right = weight.swapaxes(1, 2) if operator.transpose == "NT" else weight
        return lambda: left @ right
    if isinstance(operator, Dense):
        columns = np.ascontiguousarray(weight.T) if operator.constant_weights else weight.T
        return lambda: data @ columns
    if isinstance(operator, Conv2d) and operator.layout == "NCHW" and operator.groups == 1:
        return _convolution(operator, data, weight)
    raise UsageError(f"NumPy is not compared for {operator.label}")


def _convolution(operator: Conv2d, data: Any, weight: Any) -> Callable[[], Any]:
    """All windows side by side (im2col), unless each is a pixel, times the weights."""
    rows = weight.reshape(operator.co, -1)
    (below, right), (down, across) = operator.padding, operator.stride
    extent = [
        step * (taps - 1) + 1 for step, taps in zip(operator.dilation, operator.kernel, strict=True)
    ]
    alone = operator.kernel == (1, 1) and (below, right) == (0, 0)

    def call() -> Any:
        if alone:
            windows = data[:, :, ::down, ::across]
        else:
            padded = np.pad(data, ((0, 0), (0, 0), (below, below), (right, right)))
            every = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(2, 3))
            taps = every[:, :, ::down, ::across, :: operator.dilation[0], :: operator.dilation[1]]
            windows = taps.transpose(0, 1, 4, 5, 2, 3)
        columns = windows.reshape(operator.n, rows.shape[1], -1)
        return (rows @ columns).reshape(operator.output_shape)

    return call
