"""Softmax, layer normalisation and pooling by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tunesmith.operators import LayerNorm, Pool2d

Call = Callable[[], Any]


def softmax(data: Any, result: Any) -> Call:
    """A call that writes each row's softmax to ``result``, and returns that."""

    def call() -> Any:
        np.subtract(data, data.max(axis=1, keepdims=True), out=result)
        np.exp(result, out=result)
        return np.divide(result, result.sum(axis=1, keepdims=True), out=result)

    return call


def layer_norm(operator: LayerNorm, data: Any, gamma: Any, beta: Any, result: Any) -> Call:
    """The same for layer normalisation."""
    eps = np.float32(operator.eps)

    def call() -> Any:
        np.subtract(data, data.mean(axis=1, keepdims=True), out=result)
        squares = np.einsum("ij,ij->i", result, result)[:, None]
        np.multiply(result, 1 / np.sqrt(squares / operator.n + eps), out=result)
        np.multiply(result, gamma, out=result)
        return np.add(result, beta, out=result)

    return call


def pool(operator: Pool2d, data: Any, padded: Any, result: Any) -> Call:
    """The same for NCHW images: a tap after the other, each of all windows at once.

    ``padded`` is memory for the image with its padding.
    """
    (below, right), (down, across) = operator.padding, operator.stride
    high, wide = operator.output_image
    greatest = operator.kind == "max"
    join = np.maximum if greatest else np.add
    padded[...] = -np.inf if greatest else 0
    inside = padded[:, :, below : below + operator.h, right : right + operator.w]
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
    counts = []
    for axis, size in enumerate((operator.h, operator.w)):
        taps = operator.kernel[axis]
        first = np.arange(operator.output_image[axis]) * operator.stride[axis]
        first -= operator.padding[axis]
        inside = np.minimum(first + taps, size) - np.maximum(first, 0)
        counts.append(np.full_like(first, taps) if operator.count_include_pad else inside)
    return (1 / np.multiply.outer(*counts)).astype(np.float32)
