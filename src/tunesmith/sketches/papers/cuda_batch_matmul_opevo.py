"""The space of the OpEvo paper for batches of products on an NVIDIA GPU."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.operators import BatchMatmul, Operator
from tunesmith.sketches.cuda.tiled.tiled_sketch import Loops, TiledSketch
from tunesmith.sketches.tir.loop_nest import LoopNest
from tunesmith.target import Target

_LOOPS = Loops(
    {"b": "z", "i": "y", "j": "x"}, pairs=frozenset({"b"}), names={"i": "m", "j": "n"}, depth=3
)


class CudaBatchMatmulOpEvo(TiledSketch):
    """Only when named: the OpEvo paper's space for ``batch_matmul``.

    The batch is split in two, here blocks and threads; rows, columns and the sum as in
    ``cuda_matmul_opevo`` ("OpEvo: An Evolutionary Method for Tensor Operator Optimization", section
    5.2 and appendix B.2). It is there to repeat the paper's experiments.
    """

    name: ClassVar[str] = "cuda_batch_matmul_opevo"
    version: ClassVar[int] = 2
    only_by_name: ClassVar[bool] = True

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and isinstance(operator, BatchMatmul)

    def loops(self, nest: LoopNest) -> Loops:  # noqa: ARG002 - the same for all
        return _LOOPS
