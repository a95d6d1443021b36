"""Two-dimensional pooling: of windows of one size, and of as many as an output has elements."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.operators._base import window
from tunesmith.operators._base.operator import Argument, Float64Array, Operator
from tunesmith.operators._base.options import (
    Padding,
    PaddingOption,
    Pair,
    PairOption,
    choice,
    flag,
    size,
)

_OUTPUT = PairOption("height and width of the output")


@dataclass(frozen=True, kw_only=True, repr=False)
class Pool2d(Operator):
    """The maximum or the mean of each window of each channel.

    Data is (n, c, h, w) or (n, h, w, c) by ``layout``. A maximum ignores padding; a mean counts it
    as zeros if ``count_include_pad``, else ignores it, too. Windows that do not fit are dropped.
    With ``ceil_mode`` those stay that begin inside of the image or in the padding before it; what
    they have behind the padding never counts. These are PyTorch's rules.
    """

    name: ClassVar[str] = "pool2d"
    summary: ClassVar[str] = "largest value or mean of each window"
    signature: ClassVar[tuple[str, ...]] = ("data (n, c, h, w), or (n, h, w, c) for NHWC",)

    n: int = field(default=1, metadata=size("images in the batch"))
    c: int = field(metadata=size("channels"))
    h: int = field(metadata=size("height of the input"))
    w: int = field(metadata=size("width of the input"))
    kernel: PairOption = window.KERNEL
    stride: PairOption = window.STRIDE
    padding: PaddingOption = window.PADDING
    kind: str = field(default="max", metadata=choice("what is taken of a window", "max", "avg"))
    count_include_pad: bool = field(
        default=True, metadata=flag("let padding count as zeros in a mean")
    )
    layout: str = field(
        default="NCHW", metadata=choice("order of the data's axes", *window.IMAGE_AXES)
    )
    ceil_mode: bool = field(
        default=False, metadata=flag("keep windows that begin inside of the image but do not fit")
    )

    def _check_shapes(self) -> None:
        window.check_window(self.name, (self.h, self.w), self.kernel, self.reached_padding)
        for axis, (before, _) in enumerate(window.sides(self.padding)):
            last = (self.output_image[axis] - 1) * self.stride[axis]
            if before >= self.kernel[axis] or last >= before + (self.h, self.w)[axis]:
                raise UsageError(
                    f"{self.name}: padding {self.padding} is too large for kernel {self.kernel}: "
                    "some windows hold nothing else"
                )

    @property
    def arguments(self) -> tuple[Argument, ...]:
        shape = window.image_shape(self.layout, self.n, self.c, (self.h, self.w))
        return (Argument("data", shape, self.dtype),)

    @property
    def output_image(self) -> Pair:
        """Height and width of the output."""
        return window.window_count((self.h, self.w), self.kernel, self.stride, self.reached_padding)

    @property
    def reached_padding(self) -> Padding:
        """The padding, and what windows that ``ceil_mode`` keeps have behind it."""
        if not self.ceil_mode:
            return self.padding
        before, after = zip(*window.sides(self.padding), strict=True)
        reached = [after[axis] + self._behind(axis) for axis in range(2)]
        return (before[0], before[1], reached[0], reached[1])

    def _behind(self, axis: int) -> int:
        """Rows (axis 0) or columns that the last window of ``ceil_mode`` has behind the padding."""
        before, after = window.sides(self.padding)[axis]
        size, kernel, stride = (self.h, self.w)[axis], self.kernel[axis], self.stride[axis]
        room = before + size + after
        last = -(-(room - kernel) // stride) * stride
        if last >= before + size:
            last -= stride
        return max(0, last + kernel - room)

    def counted(self, axis: int) -> Pair | None:
        """The first row (axis 0) or column that counts in a mean, and the one after the last.

        None if all that windows hold counts.
        """
        before, after = window.sides(self.padding)[axis]
        size = (self.h, self.w)[axis]
        first, end = (-before, size + after) if self.count_include_pad else (0, size)
        last = (self.output_image[axis] - 1) * self.stride[axis] - before + self.kernel[axis]
        return None if -before >= first and last <= end else (first, end)

    def taps(self, axis: int) -> list[int]:
        """How many rows (axis 0) or columns of each window count in a mean."""
        bounds, kernel = self.counted(axis), self.kernel[axis]
        starts = [
            number * self.stride[axis] - self.padding[axis]
            for number in range(self.output_image[axis])
        ]
        if bounds is None:
            return [kernel] * len(starts)
        return [min(start + kernel, bounds[1]) - max(start, bounds[0]) for start in starts]

    @property
    def result(self) -> Argument:
        shape = window.image_shape(self.layout, self.n, self.c, self.output_image)
        return Argument("output", shape, self.dtype)

    @property
    def flops(self) -> int:
        """One per tap, and one for the division of a mean."""
        return self.result.elements * (math.prod(self.kernel) + (self.kind == "avg"))

    @property
    def tolerance(self) -> tuple[float, float]:
        return (0.0, 0.0) if self.kind == "max" else self._sum_tolerance(math.prod(self.kernel))

    def _define(self, inputs: list[Any]) -> Any:
        """Stages "pad" if there is padding, "pool2d", and "average" for a mean."""
        from tvm import te

        average, nchw = self.kind == "avg", self.layout == "NCHW"
        fill = te.const(0, self.dtype) if average else te.min_value(self.dtype)
        image_axes = window.IMAGE_AXES[self.layout]
        padded = window.define_padding(inputs[0], self.reached_padding, image_axes, fill)
        ry = te.reduce_axis((0, self.kernel[0]), name="ry")
        rx = te.reduce_axis((0, self.kernel[1]), name="rx")

        def pooled(n: Any, c: Any, y: Any, x: Any) -> Any:
            row, column = y * self.stride[0] + ry, x * self.stride[1] + rx
            value = padded[n, c, row, column] if nchw else padded[n, row, column, c]
            if average:
                return te.sum(value.astype(self.accumulate_dtype), axis=[ry, rx])
            return te.max(value, axis=[ry, rx])

        ordered = pooled if nchw else lambda n, y, x, c: pooled(n, c, y, x)
        windows = te.compute(self.result.shape, ordered, name=self.name)
        return self._define_average(windows) if average else windows

    def _define_average(self, sums: Any) -> Any:
        from tvm import te

        def element(*index: Any) -> Any:
            y, x = (index[axis] for axis in window.IMAGE_AXES[self.layout])
            taps = self._define_extent(y, 0) * self._define_extent(x, 1)
            return (sums(*index) / taps.astype(sums.dtype)).astype(self.dtype)

        return te.compute(self.result.shape, element, name="average")

    def _define_extent(self, position: Any, axis: int) -> Any:
        """How many rows (axis 0) or columns of the window at ``position`` count in a mean."""
        from tvm import te

        bounds = self.counted(axis)
        if bounds is None:
            return te.const(self.kernel[axis], "int32")
        first = position * self.stride[axis] - self.padding[axis]
        return te.min(first + self.kernel[axis], bounds[1]) - te.max(first, bounds[0])

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        data = inputs[0] if self.layout == "NCHW" else np.moveaxis(inputs[0], 3, 1)
        channel_axis = window.CHANNEL_AXIS[self.layout]
        geometry = (self.kernel, self.stride, self.reached_padding)
        if self.kind == "max":
            view = window.windows(data, *geometry, fill=-np.inf)
            return np.moveaxis(view.max(axis=(4, 5)), 1, channel_axis)
        sums = window.windows(data, *geometry).sum(axis=(4, 5))
        taps = np.multiply.outer(self.taps(0), self.taps(1))
        return np.moveaxis(sums / taps, 1, channel_axis)


@dataclass(frozen=True, kw_only=True, repr=False)
class AdaptivePool2d(Operator):
    """The mean or the maximum of each of ``output_size`` windows, which cover the image.

    Data is (n, c, h, w). As in PyTorch, window number y of ``rows`` begins at row
    ``floor(y * h / rows)`` and ends before row ``ceil((y + 1) * h / rows)``, and columns likewise:
    sizes may differ by one, and windows overlap if the image is no multiple of the output. If
    windows are all alike and equally far apart, this is ``pool2d``.
    """

    name: ClassVar[str] = "adaptive_pool2d"
    summary: ClassVar[str] = "mean or largest value of windows that cover the image (NCHW)"
    signature: ClassVar[tuple[str, ...]] = ("data (n, c, h, w)",)

    n: int = field(default=1, metadata=size("images in the batch"))
    c: int = field(metadata=size("channels"))
    h: int = field(metadata=size("height of the input"))
    w: int = field(metadata=size("width of the input"))
    output_size: PairOption = _OUTPUT
    kind: str = field(default="avg", metadata=choice("what is taken of a window", "avg", "max"))

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (Argument("data", (self.n, self.c, self.h, self.w), self.dtype),)

    @property
    def result(self) -> Argument:
        return Argument("output", (self.n, self.c, *self.output_size), self.dtype)

    def windows(self, axis: int) -> list[Pair]:
        """The first row (axis 0) or column of each window, and the one after its last."""
        extent, count = (self.h, self.w)[axis], self.output_size[axis]
        return [
            (number * extent // count, -(-(number + 1) * extent // count))
            for number in range(count)
        ]

    @property
    def largest(self) -> Pair:
        """Height and width of the largest windows."""
        rows, columns = (max(end - start for start, end in self.windows(a)) for a in range(2))
        return rows, columns

    @property
    def flops(self) -> int:
        """One per tap, and one for the division of a mean."""
        rows, columns = (sum(end - start for start, end in self.windows(a)) for a in range(2))
        divisions = self.result.elements if self.kind == "avg" else 0
        return self.n * self.c * rows * columns + divisions

    @property
    def tolerance(self) -> tuple[float, float]:
        if self.kind == "max":
            return 0.0, 0.0
        relative, absolute = self._sum_tolerance(self.largest[0] * self.largest[1])
        smallest = [min(end - start for start, end in self.windows(axis)) for axis in range(2)]
        return relative, absolute / (smallest[0] * smallest[1])

    def _define(self, inputs: list[Any]) -> Any:
        """Stages "pad" (the windows side by side, all as large as the largest one),
        "adaptive_pool2d", and "average" for a mean."""
        from tvm import te

        (data,) = inputs
        average, (high, wide) = self.kind == "avg", self.largest
        fill = te.const(0, self.dtype) if average else te.min_value(self.dtype)

        def padded(n: Any, c: Any, row: Any, column: Any) -> Any:
            y, ry, x, rx = row // high, row % high, column // wide, column % wide
            inside = te.all(ry < self._define_extent(y, 0), rx < self._define_extent(x, 1))
            value = data[n, c, self._define_start(y, 0) + ry, self._define_start(x, 1) + rx]
            return te.if_then_else(inside, value, fill)

        shape = (self.n, self.c, self.output_size[0] * high, self.output_size[1] * wide)
        apart = te.compute(shape, padded, name="pad")
        ry = te.reduce_axis((0, high), name="ry")
        rx = te.reduce_axis((0, wide), name="rx")

        def pooled(n: Any, c: Any, y: Any, x: Any) -> Any:
            value = apart[n, c, y * high + ry, x * wide + rx]
            if average:
                return te.sum(value.astype(self.accumulate_dtype), axis=[ry, rx])
            return te.max(value, axis=[ry, rx])

        windows = te.compute(self.result.shape, pooled, name=self.name)
        if not average:
            return windows

        def mean(n: Any, c: Any, y: Any, x: Any) -> Any:
            taps = self._define_extent(y, 0) * self._define_extent(x, 1)
            return (windows[n, c, y, x] / taps.astype(windows.dtype)).astype(self.dtype)

        return te.compute(self.result.shape, mean, name="average")

    def _define_start(self, position: Any, axis: int) -> Any:
        return position * (self.h, self.w)[axis] // self.output_size[axis]

    def _define_extent(self, position: Any, axis: int) -> Any:
        extent, count = (self.h, self.w)[axis], self.output_size[axis]
        end = ((position + 1) * extent + count - 1) // count
        return end - self._define_start(position, axis)

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        (data,) = inputs
        found = np.empty(self.result.shape)
        for y, (top, bottom) in enumerate(self.windows(0)):
            for x, (left, right) in enumerate(self.windows(1)):
                window = data[:, :, top:bottom, left:right]
                mean = self.kind == "avg"
                found[:, :, y, x] = window.mean(axis=(2, 3)) if mean else window.max(axis=(2, 3))
        return found
