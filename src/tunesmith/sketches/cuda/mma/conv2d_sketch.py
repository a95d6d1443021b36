"""Convolutions in float16 and bfloat16 on the tensor cores of NVIDIA GPUs."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.sketches.cuda.mma.convolution import Convolution
from tunesmith.sketches.cuda.mma.tensor_sketch import TensorSketch


class CudaTensorConv2d(Convolution, TensorSketch):
    """Convolves 16-bit images on tensor cores as a product of matrices, with sums in float32.

    The matrix of all windows is never stored: blocks gather their tiles of it from the image, zeros
    for the padding (as Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", section
    3.1). Windows of NHWC whose channels are a multiple of eight are copied 16 bytes at a time, and
    so are images of NCHW under a kernel of one element; other elements come one by one.
    """

    name: ClassVar[str] = "cuda_tensor_conv2d"
    version: ClassVar[int] = 1
