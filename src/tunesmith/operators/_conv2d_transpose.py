"""Transposed two-dimensional convolution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.operators._base import window
from tunesmith.operators._base.epilogue import ProductOperator
from tunesmith.operators._base.operator import Argument, Float64Array
from tunesmith.operators._base.options import Pair, PairOption, size

_STRIDE = PairOption("step of the window in the output", default=(1, 1))
_CROPPING = PairOption(
    "rows and columns cut off each side of the output", minimum=0, default=(0, 0)
)
_OUTPUT_PADDING = PairOption(
    "rows and columns added at the end of the output", minimum=0, default=(0, 0)
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Conv2dTranspose(ProductOperator):
    """Each input value, times the kernel, is added to a window of the output.

    Data is (n, ci, h, w), weights are (ci, co, kh, kw). ``padding`` rows and columns are cut off
    each side of the output and ``output_padding`` is added at its end, so each axis has
    ``(size - 1) * stride - 2 * padding + kernel + output_padding`` elements.
    """

    name: ClassVar[str] = "conv2d_transpose"
    summary: ClassVar[str] = "transposed two-dimensional convolution (NCHW)"
    signature: ClassVar[tuple[str, ...]] = ("data (n, ci, h, w)", "weight (ci, co, kh, kw)")

    n: int = field(default=1, metadata=size("images in the batch"))
    ci: int = field(metadata=size("input channels"))
    h: int = field(metadata=size("height of the input"))
    w: int = field(metadata=size("width of the input"))
    co: int = field(metadata=size("output channels"))
    kernel: PairOption = window.KERNEL
    stride: PairOption = _STRIDE
    padding: PairOption = _CROPPING
    output_padding: PairOption = _OUTPUT_PADDING

    def _check_shapes(self) -> None:
        if any(o >= s for o, s in zip(self.output_padding, self.stride, strict=True)):
            raise UsageError(
                f"{self.name}: output_padding {self.output_padding} must be smaller than "
                f"stride {self.stride}"
            )
        if min(self.output_image) < 1:
            raise UsageError(
                f"{self.name}: padding {self.padding} cuts the whole output away "
                f"({self.output_image[0]}x{self.output_image[1]} are left): make it smaller"
            )

    @property
    def operands(self) -> tuple[Argument, Argument]:
        return (
            Argument("data", (self.n, self.ci, self.h, self.w), self.dtype),
            Argument("weight", (self.ci, self.co, *self.kernel), self.dtype),
        )

    @property
    def output_image(self) -> Pair:
        """Height and width of the output."""
        window = (self.stride, self.padding, self.kernel, self.output_padding)
        high, wide = (
            (size - 1) * s - 2 * p + k + o
            for size, s, p, k, o in zip((self.h, self.w), *window, strict=True)
        )
        return high, wide

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.n, self.co, *self.output_image)

    @property
    def channel_axis(self) -> int:
        return 1

    @property
    def reduction_length(self) -> int:
        return self.ci * self.kernel[0] * self.kernel[1]

    @property
    def multiply_adds(self) -> int:
        """One for each input value, output channel and tap, cut off or not."""
        return self.operands[0].elements * self.co * self.kernel[0] * self.kernel[1]

    def _define_products(self, data: Any, weight: Any) -> Any:
        """A direct convolution with the flipped kernel over the stage "dilate"."""
        from tvm import te

        total = self.accumulate_dtype
        kh, kw = self.kernel
        dilated = self._define_dilation(data)
        rc = te.reduce_axis((0, self.ci), name="rc")
        ry = te.reduce_axis((0, kh), name="ry")
        rx = te.reduce_axis((0, kw), name="rx")

        def element(n: Any, f: Any, y: Any, x: Any) -> Any:
            value = dilated[n, rc, y + ry, x + rx].astype(total)
            factor = weight[rc, f, kh - 1 - ry, kw - 1 - rx].astype(total)
            return te.sum(value * factor, axis=[rc, ry, rx])

        return te.compute(self.output_shape, element, name=self.name)

    def _define_dilation(self, data: Any) -> Any:
        """The data ``stride`` apart with zeros between and around, as far as the output needs."""
        from tvm import te

        kernel, output = self.kernel, self.output_image
        before = [k - 1 - p for k, p in zip(kernel, self.padding, strict=True)]
        shape = (self.n, self.ci, output[0] + kernel[0] - 1, output[1] + kernel[1] - 1)

        def element(n: Any, c: Any, y: Any, x: Any) -> Any:
            source, bounds = [], []
            for axis, position in enumerate((y, x)):
                stride, extent = self.stride[axis], (self.h, self.w)[axis]
                offset = position - before[axis]
                source.append(offset // stride)
                bounds += [offset >= 0, offset < (extent - 1) * stride + 1]
                bounds += [offset % stride == 0] if stride > 1 else []
            return te.if_then_else(te.all(*bounds), data[n, c, *source], te.const(0, self.dtype))

        return te.compute(shape, element, name="dilate")

    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        """Scatters: every tap adds one strided image to the output."""
        (kh, kw), (sy, sx), (py, px) = self.kernel, self.stride, self.padding
        high, wide = self.output_image
        # The output before cropping, with room for the output padding.
        whole = np.zeros((self.n, self.co, high + 2 * py, wide + 2 * px))
        flat = data.reshape(self.n, self.ci, -1)
        for y in range(kh):
            for x in range(kw):
                products = weight[:, :, y, x].T @ flat
                target = whole[:, :, y : y + self.h * sy : sy, x : x + self.w * sx : sx]
                target += products.reshape(self.n, self.co, self.h, self.w)
        return whole[:, :, py : py + high, px : px + wide]
