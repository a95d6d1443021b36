"""Two-dimensional pooling."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.operators import _window
from tunesmith.operators._operator import Argument, Float64Array, Operator
from tunesmith.operators._options import Pair, PairOption, choice, flag, size


@dataclass(frozen=True, kw_only=True, repr=False)
class Pool2d(Operator):
    """The maximum or the mean of each window of each channel.

    Data is (n, c, h, w) or (n, h, w, c) by ``layout``. A maximum ignores padding; a mean counts it
    as zeros if ``count_include_pad``, else ignores it, too. Windows that do not fit are dropped.
    """

    name: ClassVar[str] = "pool2d"
    summary: ClassVar[str] = "largest value or mean of each window"
    signature: ClassVar[tuple[str, ...]] = ("data (n, c, h, w), or (n, h, w, c) for NHWC",)

    n: int = field(default=1, metadata=size("images in the batch"))
    c: int = field(metadata=size("channels"))
    h: int = field(metadata=size("height of the input"))
    w: int = field(metadata=size("width of the input"))
    kernel: PairOption = _window.KERNEL
    stride: PairOption = _window.STRIDE
    padding: PairOption = _window.PADDING
    kind: str = field(default="max", metadata=choice("what is taken of a window", "max", "avg"))
    count_include_pad: bool = field(
        default=True, metadata=flag("let padding count as zeros in a mean")
    )
    layout: str = field(
        default="NCHW", metadata=choice("order of the data's axes", *_window.IMAGE_AXES)
    )

    def _check_shapes(self) -> None:
        _window.check_window(self.name, (self.h, self.w), self.kernel, self.padding)
        if any(2 * p > k for p, k in zip(self.padding, self.kernel, strict=True)):
            raise UsageError(
                f"{self.name}: padding {self.padding} must be at most half of "
                f"kernel {self.kernel}, or some windows hold nothing but padding"
            )

    @property
    def arguments(self) -> tuple[Argument, ...]:
        shape = _window.image_shape(self.layout, self.n, self.c, (self.h, self.w))
        return (Argument("data", shape, self.dtype),)

    @property
    def output_image(self) -> Pair:
        """Height and width of the output."""
        return _window.window_count((self.h, self.w), self.kernel, self.stride, self.padding)

    @property
    def result(self) -> Argument:
        shape = _window.image_shape(self.layout, self.n, self.c, self.output_image)
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
        image_axes = _window.IMAGE_AXES[self.layout]
        padded = _window.define_padding(inputs[0], self.padding, image_axes, fill)
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
            y, x = (index[axis] for axis in _window.IMAGE_AXES[self.layout])
            taps = self._define_extent(y, 0) * self._define_extent(x, 1)
            return (sums(*index) / taps.astype(sums.dtype)).astype(self.dtype)

        return te.compute(self.result.shape, element, name="average")

    def _define_extent(self, position: Any, axis: int) -> Any:
        """How many rows (axis 0) or columns of the window at ``position`` count in a mean."""
        from tvm import te

        if self.count_include_pad:
            return te.const(self.kernel[axis], "int32")
        first = position * self.stride[axis] - self.padding[axis]
        end = te.min(first + self.kernel[axis], (self.h, self.w)[axis])
        return end - te.max(first, 0)

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        data = inputs[0] if self.layout == "NCHW" else np.moveaxis(inputs[0], 3, 1)
        channel_axis = _window.CHANNEL_AXIS[self.layout]
        geometry = (self.kernel, self.stride, self.padding)
        if self.kind == "max":
            view = _window.windows(data, *geometry, fill=-np.inf)
            return np.moveaxis(view.max(axis=(4, 5)), 1, channel_axis)
        sums = _window.windows(data, *geometry).sum(axis=(4, 5))
        inside = np.ones((1, 1, self.h, self.w))
        fill = 1.0 if self.count_include_pad else 0.0
        taps = _window.windows(inside, *geometry, fill=fill).sum(axis=(4, 5))
        return np.moveaxis(sums / taps, 1, channel_axis)
