"""The generic sketch for NVIDIA GPUs: any one reduction, tiled for blocks and threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tunesmith.operators import Operator
from tunesmith.sketches.cuda.limits import LIMITS
from tunesmith.sketches.cuda.tiled_sketch import Loops, TiledSketch
from tunesmith.sketches.loop_nest import LoopNest, main_loop_nest
from tunesmith.space import Categorical, Constraint, Ordinal, Parameter
from tunesmith.target import Target

# Bytes of a sum, at the least.
_SUM = 4


class CudaTiled(TiledSketch):
    """Tiles every loop; blocks stage inputs in shared memory, threads sum in registers.

    Spatial axes are split into blocks, virtual threads, threads and what a thread does by itself,
    and fused at each of these levels; reduction axes into steps and what is in shared memory at a
    time. Each input goes through shared memory or is read where it is.
    """

    name: ClassVar[str] = "cuda_tiled"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and main_loop_nest(operator) is not None

    def loops(self, nest: LoopNest) -> Loops:
        return Loops({axis.name: "x" for axis in nest.spatial})

    def parameters(self, nest: LoopNest) -> Sequence[Parameter]:
        return (
            *(Categorical(f"stage_{a.buffer}", (False, True)) for a in nest.inputs),
            Ordinal("vector", (1, 2, 4)),
            Ordinal("auto_unroll_max_step", (0, 16, 64, 512)),
            Categorical("unroll_explicit", (0, 1)),
        )

    def constraints(self, nest: LoopNest) -> Sequence[Constraint]:
        """The limits of a block, as far as they are products of factors."""
        tiles = [f"tile_{axis.name}" for axis in nest.spatial]
        threads, vthreads = (" * ".join(f"{tile}[{part}]" for tile in tiles) for part in (2, 1))
        inner = " * ".join(f"{tile}[3]" for tile in tiles)
        return (
            Constraint(f"{threads} <= {LIMITS.threads}"),
            Constraint(f"{vthreads} <= {LIMITS.vthreads}"),
            Constraint(f"{vthreads} * {inner} <= {LIMITS.register_bytes // _SUM}"),
        )
