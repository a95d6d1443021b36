"""Sliding windows: their number, their padding, and NumPy convolution over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tunesmith.errors import UsageError
from tunesmith.operators._base.operator import Float64Array
from tunesmith.operators._base.options import Padding, PaddingOption, Pair, PairOption

# The options that operators over windows share.
KERNEL = PairOption("height and width of the window", aliases=("k",))
STRIDE = PairOption("step of the window", default=(1, 1))
PADDING = PaddingOption(
    "rows and columns added on each side, or top, left, bottom and right",
    minimum=0,
    default=(0, 0),
)
DILATION = PairOption("distance between the taps of the window", default=(1, 1))

# The image axes and the channel axis of each layout.
IMAGE_AXES = {"NCHW": (2, 3), "NHWC": (1, 2)}
CHANNEL_AXIS = {"NCHW": 1, "NHWC": 3}


def image_shape(layout: str, n: int, channels: int, image: Pair) -> tuple[int, ...]:
    """The shape of ``n`` images of ``channels`` channels in ``layout``."""
    return (n, channels, *image) if layout == "NCHW" else (n, *image, channels)


def sides(padding: Padding) -> tuple[Pair, Pair]:
    """Rows above and below an image, and columns on its left and right."""
    top, left, *after = padding
    bottom, right = after or (top, left)
    return (top, bottom), (left, right)


def window_count(
    image: Pair, kernel: Pair, stride: Pair, padding: Padding, dilation: Pair = (1, 1)
) -> Pair:
    """How many windows fit along each axis of an ``(h, w)`` image; 0 or less if none does."""
    high, wide = (
        (size + sum(p) - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip(image, kernel, stride, sides(padding), dilation, strict=True)
    )
    return high, wide


def check_window(
    name: str, image: Pair, kernel: Pair, padding: Padding, dilation: Pair = (1, 1)
) -> None:
    """Raise ``UsageError`` if the dilated kernel is larger than the padded image."""
    span = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    room = [size + sum(p) for size, p in zip(image, sides(padding), strict=True)]
    if span[0] > room[0] or span[1] > room[1]:
        raise UsageError(
            f"{name}: the kernel covers {span[0]}x{span[1]}, more than the padded input's "
            f"{room[0]}x{room[1]}: make kernel or dilation smaller, or padding larger"
        )


def define_padding(data: Any, padding: Padding, image_axes: Pair, value: Any) -> Any:
    """The stage "pad" around the TE tensor ``data``, or ``data`` itself if ``padding`` is zero.

    ``value`` fills the rows and columns of the padding.
    """
    from tvm import te

    if not any(padding):
        return data
    around = dict(zip(image_axes, sides(padding), strict=True))
    none = (0, 0)
    shape = [int(size) + sum(around.get(axis, none)) for axis, size in enumerate(data.shape)]

    def element(*index: Any) -> Any:
        source = [i - around.get(axis, none)[0] for axis, i in enumerate(index)]
        bounds = []
        for axis, (before, after) in around.items():
            bounds += [index[axis] >= before] if before else []
            bounds += [index[axis] < before + int(data.shape[axis])] if after else []
        return te.if_then_else(te.all(*bounds), data(*source), value)

    return te.compute(shape, element, name="pad")


def windows(
    data: Float64Array,
    kernel: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair = (1, 1),
    *,
    fill: float = 0.0,
) -> Float64Array:
    """A view of the windows of ``data`` (n, c, h, w): (n, c, out_h, out_w, kernel_h, kernel_w)."""
    padded = np.pad(data, ((0, 0), (0, 0), *sides(padding)), constant_values=fill)
    span = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    view: Float64Array = sliding_window_view(padded, span, axis=(2, 3))
    return view[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def correlate(
    data: Float64Array,
    weight: Float64Array,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    *,
    groups: int,
) -> Float64Array:
    """The convolution of ``data`` (n, ci, h, w) with ``weight`` (co, ci/groups, kh, kw).

    The sums are matrix products with a matrix that has one column per window (im2col). It has
    kh * kw times as many elements as the image, so it is made for one image at a time.
    """
    co, _, kh, kw = weight.shape
    view = windows(data, (kh, kw), stride, padding, dilation)
    n, _, high, wide = view.shape[:4]
    rows = weight.reshape(groups, co // groups, -1)
    output = np.empty((n, co, high, wide))
    for image, result in zip(view, output, strict=True):
        columns = image.transpose(0, 3, 4, 1, 2).reshape(groups, rows.shape[2], high * wide)
        result[:] = (rows @ columns).reshape(co, high, wide)
    return output
