"""The generic sketch for NVIDIA GPUs: any one reduction, tiled for blocks and threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tunesmith.operators import Operator
from tunesmith.sketches.cuda.limits import LIMITS, BlockLimits, copies_asynchronously, limits_of
from tunesmith.sketches.cuda.tiled.tiled_sketch import Loops, TiledSketch
from tunesmith.sketches.tir.loop_nest import LoopNest, main_loop_nest
from tunesmith.space import Categorical, Constraint, Ordinal, Parameter
from tunesmith.target import Target

# Bytes of a sum, at the least.
_SUM = 4


class CudaTiled(TiledSketch):
    """Tiles every loop; blocks stage inputs in shared memory, threads sum in registers.

    Spatial axes are split into blocks, virtual threads, threads and elements of a thread, and fused
    at each of these levels; reduction axes into steps and k tiles in shared memory, the longest of
    them into slices as well: threads of a block that share each sum.

    Each input is staged in shared memory or read in place. Copies may be double buffered by way of
    registers, or pipelined several steps ahead, asynchronously, where the GPU can do that.
    """

    name: ClassVar[str] = "cuda_tiled"
    version: ClassVar[int] = 2

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and main_loop_nest(operator) is not None

    def loops(self, nest: LoopNest) -> Loops:
        longest = max(nest.reduction, key=lambda axis: axis.extent)
        return Loops({axis.name: "x" for axis in nest.spatial}, sliced=longest.name)

    def limits(self, target: Target) -> BlockLimits:
        return limits_of(target)

    def parameters(self, nest: LoopNest, target: Target) -> Sequence[Parameter]:
        return (
            *(Categorical(f"stage_{a.buffer}", (False, True)) for a in nest.inputs),
            Ordinal("vector", (1, 2, 4)),
            *_pipeline(nest, target),
            Ordinal("auto_unroll_max_step", (0, 16, 64, 512)),
            Categorical("unroll_explicit", (0, 1)),
        )

    def default_choices(self, nest: LoopNest, target: Target) -> Sequence[Mapping[str, Any]]:
        """Vectors, copied asynchronously where there is no padding on the way."""
        if any(access.produced or any(access.groups) for access in nest.inputs):
            return ({},)
        plain = {"vector": 4}
        ahead = {**plain, "stages": 3, "async_copy": True}
        return (ahead, plain) if copies_asynchronously(target) else (plain,)

    def constraints(self, nest: LoopNest, target: Target) -> Sequence[Constraint]:
        """The limits of a block, as far as they are products of factors, and of copies ahead."""
        tiles = [f"tile_{axis.name}" for axis in nest.spatial]
        threads, vthreads = (" * ".join(f"{tile}[{part}]" for tile in tiles) for part in (2, 1))
        slices = f"tile_{self.loops(nest).sliced}[1]"
        inner = " * ".join(f"{tile}[3]" for tile in tiles)
        return (
            *(Constraint(text) for text in _ahead(nest, target)),
            # The sums of virtual threads would overwrite each other in shared memory.
            Constraint(f"{slices} == 1 or {vthreads} == 1"),
            Constraint(f"{threads} * {slices} <= {LIMITS.threads}"),
            Constraint(f"{vthreads} <= {LIMITS.vthreads}"),
            Constraint(f"{vthreads} * {inner} <= {LIMITS.register_bytes // _SUM}"),
        )


def _pipeline(nest: LoopNest, target: Target) -> Sequence[Parameter]:
    """How far copies run ahead of the sums, where TVM can see which part of an input they need."""
    if any(any(access.groups) for access in nest.inputs):
        return ()
    if copies_asynchronously(target):
        return Ordinal("stages", (1, 2, 3, 4)), Categorical("async_copy", (False, True))
    return (Ordinal("stages", (1, 2)),) if len(nest.inputs) > 1 else ()


def _ahead(nest: LoopNest, target: Target) -> Sequence[str]:
    """Copies run one step ahead by way of registers, and only those of two inputs.

    TVM's pass for that cannot find the loops of a copy that is alone in its step.
    """
    names = {parameter.name for parameter in _pipeline(nest, target)}
    staged = [f"stage_{access.buffer}" for access in nest.inputs]
    registers = " and ".join(staged) if len(staged) > 1 else "False"
    if "async_copy" in names:
        some = " or ".join(staged)
        return (
            f"stages == 1 or async_copy and ({some}) or stages == 2 and ({registers})",
            "stages > 1 or not async_copy",
        )
    return (f"stages == 1 or ({registers})",) if "stages" in names else ()
