"""Depthwise convolution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.operators._base import window
from tunesmith.operators._base.epilogue import ProductOperator
from tunesmith.operators._base.operator import Argument, Float64Array
from tunesmith.operators._base.options import PaddingOption, Pair, PairOption, choice, size


@dataclass(frozen=True, kw_only=True, repr=False)
class DepthwiseConv2d(ProductOperator):
    """Convolves each input channel c on its own, to output channels c * multiplier + i.

    Data is (n, c, h, w) or (n, h, w, c) by ``layout``; weights are (c, multiplier, kh, kw) for NCHW
    and (kh, kw, c, multiplier) for NHWC.
    """

    name: ClassVar[str] = "depthwise_conv2d"
    summary: ClassVar[str] = "two-dimensional convolution of each channel by itself"
    signature: ClassVar[tuple[str, ...]] = (
        "data (n, c, h, w), or (n, h, w, c) for NHWC",
        "weight (c, multiplier, kh, kw), or (kh, kw, c, multiplier) for NHWC",
    )

    n: int = field(default=1, metadata=size("images in the batch"))
    c: int = field(metadata=size("input channels"))
    h: int = field(metadata=size("height of the input"))
    w: int = field(metadata=size("width of the input"))
    multiplier: int = field(default=1, metadata=size("output channels for each input channel"))
    kernel: PairOption = window.KERNEL
    stride: PairOption = window.STRIDE
    padding: PaddingOption = window.PADDING
    dilation: PairOption = window.DILATION
    layout: str = field(
        default="NCHW", metadata=choice("order of the data's axes", *window.IMAGE_AXES)
    )

    def _check_shapes(self) -> None:
        window.check_window(self.name, (self.h, self.w), self.kernel, self.padding, self.dilation)

    @property
    def operands(self) -> tuple[Argument, Argument]:
        shape = window.image_shape(self.layout, self.n, self.c, (self.h, self.w))
        channels = (self.c, self.multiplier)
        weight = (*channels, *self.kernel) if self.layout == "NCHW" else (*self.kernel, *channels)
        return Argument("data", shape, self.dtype), Argument("weight", weight, self.dtype)

    @property
    def groups(self) -> int:
        """The groups of channels, as in ``Conv2d``: each channel is one."""
        return self.c

    @property
    def output_image(self) -> Pair:
        """Height and width of the output."""
        return window.window_count(
            (self.h, self.w), self.kernel, self.stride, self.padding, self.dilation
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        return window.image_shape(self.layout, self.n, self.c * self.multiplier, self.output_image)

    @property
    def channel_axis(self) -> int:
        return window.CHANNEL_AXIS[self.layout]

    @property
    def reduction_length(self) -> int:
        return self.kernel[0] * self.kernel[1]

    def _define_products(self, data: Any, weight: Any) -> Any:
        """Reduction axes are ry, rx in either layout."""
        from tvm import te

        total, multiplier = self.accumulate_dtype, self.multiplier
        zero = te.const(0, self.dtype)
        padded = window.define_padding(data, self.padding, window.IMAGE_AXES[self.layout], zero)
        ry = te.reduce_axis((0, self.kernel[0]), name="ry")
        rx = te.reduce_axis((0, self.kernel[1]), name="rx")
        layout_is_nchw = self.layout == "NCHW"

        def element(n: Any, f: Any, y: Any, x: Any) -> Any:
            channel, product = f // multiplier, f % multiplier
            row = y * self.stride[0] + ry * self.dilation[0]
            column = x * self.stride[1] + rx * self.dilation[1]
            if layout_is_nchw:
                value, factor = padded[n, channel, row, column], weight[channel, product, ry, rx]
            else:
                value, factor = padded[n, row, column, channel], weight[ry, rx, channel, product]
            return te.sum(value.astype(total) * factor.astype(total), axis=[ry, rx])

        ordered = element if layout_is_nchw else lambda n, y, x, f: element(n, f, y, x)
        return te.compute(self.output_shape, ordered, name=self.name)

    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        if self.layout == "NHWC":
            data, weight = np.moveaxis(data, 3, 1), weight.transpose(2, 3, 0, 1)
        weight = weight.reshape(-1, 1, *self.kernel)
        output = window.correlate(
            data, weight, self.stride, self.padding, self.dilation, groups=self.c
        )
        return np.moveaxis(output, 1, self.channel_axis)
