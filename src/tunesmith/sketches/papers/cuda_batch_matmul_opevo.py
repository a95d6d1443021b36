"""The space of the OpEvo paper for batches of products on an NVIDIA GPU."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.operators import BatchMatmul
from tunesmith.sketches.cuda.tiled.tiled_sketch import Loops, TiledSketch


class CudaBatchMatmulOpEvo(TiledSketch):
    """Only when named: the OpEvo paper's space for ``batch_matmul``.

    The batch is split in two, here blocks and threads; rows, columns and the sum as in
    ``cuda_matmul_opevo`` ("OpEvo: An Evolutionary Method for Tensor Operator Optimization", section
    5.2 and appendix B.2). It is there to repeat the paper's experiments.
    """

    name: ClassVar[str] = "cuda_batch_matmul_opevo"
    version: ClassVar[int] = 2
    only_by_name: ClassVar[bool] = True
    operators = BatchMatmul
    fixed_loops = Loops(
        {"b": "z", "i": "y", "j": "x"}, pairs=frozenset({"b"}), names={"i": "m", "j": "n"}, depth=3
    )
