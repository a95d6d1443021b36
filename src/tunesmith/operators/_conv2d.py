"""Two-dimensional convolution."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.operators._base import window
from tunesmith.operators._base.epilogue import ProductOperator
from tunesmith.operators._base.operator import Argument, Float64Array
from tunesmith.operators._base.options import PaddingOption, Pair, PairOption, choice, size


@dataclass(frozen=True, kw_only=True, repr=False)
class Conv2d(ProductOperator):
    """Each output is the sum, over a window and the input channels of a group, of data x weight.

    Data is (n, ci, h, w) or (n, h, w, ci) by ``layout``; weights are (co, ci/groups, kh, kw) for
    NCHW and (kh, kw, ci/groups, co) for NHWC. As is usual in deep learning, the kernel is not
    flipped. Windows that do not fit are dropped (no ceiling mode).
    """

    name: ClassVar[str] = "conv2d"
    summary: ClassVar[str] = "two-dimensional convolution"
    signature: ClassVar[tuple[str, ...]] = (
        "data (n, ci, h, w), or (n, h, w, ci) for NHWC",
        "weight (co, ci/groups, kh, kw), or (kh, kw, ci/groups, co) for NHWC",
    )

    n: int = field(default=1, metadata=size("images in the batch"))
    ci: int = field(metadata=size("input channels"))
    h: int = field(metadata=size("height of the input"))
    w: int = field(metadata=size("width of the input"))
    co: int = field(metadata=size("output channels"))
    kernel: PairOption = window.KERNEL
    stride: PairOption = window.STRIDE
    padding: PaddingOption = window.PADDING
    dilation: PairOption = window.DILATION
    groups: int = field(default=1, metadata=size("groups that the channels are split into"))
    layout: str = field(
        default="NCHW", metadata=choice("order of the data's axes", *window.IMAGE_AXES)
    )

    def _check_shapes(self) -> None:
        window.check_window(self.name, (self.h, self.w), self.kernel, self.padding, self.dilation)
        if self.ci % self.groups or self.co % self.groups:
            raise UsageError(
                f"{self.name}: groups={self.groups} must divide ci={self.ci} and co={self.co}"
            )

    @property
    def operands(self) -> tuple[Argument, Argument]:
        shape = window.image_shape(self.layout, self.n, self.ci, (self.h, self.w))
        inner = self.ci // self.groups
        oihw = (self.co, inner, *self.kernel)
        hwio = (*self.kernel, inner, self.co)
        weight = oihw if self.layout == "NCHW" else hwio
        return Argument("data", shape, self.dtype), Argument("weight", weight, self.dtype)

    @cached_property
    def output_image(self) -> Pair:
        """Height and width of the output."""
        return window.window_count(
            (self.h, self.w), self.kernel, self.stride, self.padding, self.dilation
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        return window.image_shape(self.layout, self.n, self.co, self.output_image)

    @property
    def channel_axis(self) -> int:
        return window.CHANNEL_AXIS[self.layout]

    @property
    def reduction_length(self) -> int:
        return self.ci // self.groups * self.kernel[0] * self.kernel[1]

    def _define_products(self, data: Any, weight: Any) -> Any:
        """Reduction axes are rc, ry, rx in either layout; group g reads its own channels."""
        from tvm import te

        total = self.accumulate_dtype
        inner, outer = self.ci // self.groups, self.co // self.groups
        zero = te.const(0, self.dtype)
        padded = window.define_padding(data, self.padding, window.IMAGE_AXES[self.layout], zero)
        rc = te.reduce_axis((0, inner), name="rc")
        ry = te.reduce_axis((0, self.kernel[0]), name="ry")
        rx = te.reduce_axis((0, self.kernel[1]), name="rx")
        layout_is_nchw = self.layout == "NCHW"

        def element(n: Any, f: Any, y: Any, x: Any) -> Any:
            channel = rc if self.groups == 1 else f // outer * inner + rc
            row = y * self.stride[0] + ry * self.dilation[0]
            column = x * self.stride[1] + rx * self.dilation[1]
            if layout_is_nchw:
                value, factor = padded[n, channel, row, column], weight[f, rc, ry, rx]
            else:
                value, factor = padded[n, row, column, channel], weight[ry, rx, rc, f]
            return te.sum(value.astype(total) * factor.astype(total), axis=[rc, ry, rx])

        ordered = element if layout_is_nchw else lambda n, y, x, f: element(n, f, y, x)
        return te.compute(self.output_shape, ordered, name=self.name)

    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        if self.layout == "NHWC":
            data, weight = np.moveaxis(data, 3, 1), weight.transpose(3, 2, 0, 1)
        output = window.correlate(
            data, weight, self.stride, self.padding, self.dilation, groups=self.groups
        )
        return np.moveaxis(output, 1, self.channel_axis)
