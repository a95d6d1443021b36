"""Products of matrices in float16 and bfloat16 on the tensor cores of NVIDIA GPUs."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.sketches.cuda.mma.gemm import Gemm
from tunesmith.sketches.cuda.mma.tensor_sketch import TensorSketch


class CudaTensorGemm(Gemm, TensorSketch):
    """Multiplies matrices of 16-bit elements on tensor cores, with sums in float32.

    ``mma`` of sm_80 and newer, fed by ``ldmatrix`` from tiles in shared memory that ``cp.async``
    fills several stages ahead. Tiles, warps, stages and the layout of shared memory are parameters;
    any sizes will do, and those of which rows are multiples of 16 bytes are copied fastest.
    """

    name: ClassVar[str] = "cuda_tensor_gemm"
    version: ClassVar[int] = 1
