"""Products of matrices in float16 and bfloat16 on the tensor cores of Hopper GPUs."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.sketches.cuda.mma.gemm import Gemm
from tunesmith.sketches.cuda.wgmma.warpgroup_sketch import WarpgroupSketch


class CudaWgmmaGemm(Gemm, WarpgroupSketch):
    """Multiplies matrices of 16-bit elements on Hopper's tensor cores, with sums in float32.

    ``wgmma`` of sm_90, which no other GPU has: groups of four warps multiply tiles in shared memory
    that ``cp.async`` fills several stages ahead, and go on while that is done. Tiles, warpgroups
    and stages are parameters; any sizes will do, and those of which rows are multiples of 16 bytes
    are copied fastest.
    """

    name: ClassVar[str] = "cuda_wgmma_gemm"
    version: ClassVar[int] = 2
