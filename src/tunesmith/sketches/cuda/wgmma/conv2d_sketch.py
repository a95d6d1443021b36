"""Convolutions in float16 and bfloat16 on the tensor cores of Hopper GPUs."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.sketches.cuda.mma.convolution import Convolution
from tunesmith.sketches.cuda.wgmma.warpgroup_sketch import WarpgroupSketch


class CudaWgmmaConv2d(Convolution, WarpgroupSketch):
    """Convolves 16-bit images on Hopper's tensor cores as a product of matrices, with sums in
    float32.

    Windows are gathered as ``cuda_tensor_conv2d`` does it, and multiplied as ``cuda_wgmma_gemm``
    does.
    """

    name: ClassVar[str] = "cuda_wgmma_conv2d"
    version: ClassVar[int] = 2
