"""The space of the G-BFS and N-A2C paper on an NVIDIA GPU: a product tiled by 4, 2, 4 factors."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.operators import Matmul
from tunesmith.sketches.cuda.tiled.tiled_sketch import Loops, TiledSketch


class CudaGemm424(TiledSketch):
    """Only when named: the space d = (4, 2, 4) of the G-BFS and N-A2C paper, for ``matmul``.

    Rows and columns are split into blocks, virtual threads, threads and what a thread does by
    itself, the sum into steps and what is in shared memory at a time, and that is all there is to
    choose ("Compiler-Level Matrix Multiplication Optimization for Deep Learning", sections 2.3 and
    4). It is there to repeat the paper's experiments.
    """

    name: ClassVar[str] = "cuda_gemm_424"
    version: ClassVar[int] = 2
    only_by_name: ClassVar[bool] = True
    operators = Matmul
    fixed_loops = Loops({"i": "y", "j": "x"}, names={"i": "m", "j": "n"})
