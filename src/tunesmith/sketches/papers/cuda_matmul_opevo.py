"""The space of the OpEvo paper for products of matrices on an NVIDIA GPU."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.operators import Matmul
from tunesmith.sketches.cuda.tiled.tiled_sketch import Loops, TiledSketch


class CudaMatmulOpEvo(TiledSketch):
    """Only when named: the OpEvo paper's space for ``matmul``.

    Rows and columns are split in four, the sum in three ("OpEvo: An Evolutionary Method for Tensor
    Operator Optimization", section 5.1 and appendix B.1): into blocks, virtual threads, threads and
    elements of a thread; and into steps, each of which stages its part in shared memory, steps
    within that, and what a thread loads into registers at a time. It is there to repeat the paper's
    experiments.
    """

    name: ClassVar[str] = "cuda_matmul_opevo"
    version: ClassVar[int] = 2
    only_by_name: ClassVar[bool] = True
    operators = Matmul
    fixed_loops = Loops({"i": "y", "j": "x"}, names={"i": "m", "j": "n"}, depth=3)
