"""Convolutions in float16 and bfloat16 on the tensor cores of Hopper GPUs."""

from __future__ import annotations

from typing import ClassVar, cast

from tunesmith.operators import Conv2d, Operator, ProductOperator
from tunesmith.sketches.cuda.mma.convolution import convolution_product
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.cuda.wgmma.warpgroup_sketch import WarpgroupSketch


class CudaWgmmaConv2d(WarpgroupSketch):
    """Convolves 16-bit images on Hopper's tensor cores as a product of matrices, with sums in
    float32.

    Windows are gathered as ``cuda_tensor_conv2d`` does it, and multiplied as ``cuda_wgmma_gemm``
    does.
    """

    name: ClassVar[str] = "cuda_wgmma_conv2d"
    version: ClassVar[int] = 1

    def multiplies(self, operator: Operator) -> bool:
        return isinstance(operator, Conv2d) and operator.groups == 1

    def product(self, operator: ProductOperator) -> Product:
        return convolution_product(cast(Conv2d, operator))
