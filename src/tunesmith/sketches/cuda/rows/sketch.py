"""The GPU sketch for row-wise operators: several reductions over the last axis, in turn."""

# ruff: noqa: ARG002 - the same configs make sense on every GPU, whatever the target

from __future__ import annotations

from typing import Any, ClassVar

from tunesmith.operators import Operator
from tunesmith.sketches.cuda.estimates.gpu import Gpu, estimated
from tunesmith.sketches.cuda.limits import LIMITS, WARP, limits_of, shared_scope
from tunesmith.sketches.cuda.rows.tiling import (
    COMPUTED_AGAIN,
    REGISTERS,
    SHARED,
    RowTiling,
    bytes_of,
    kept,
    scheduled_rows,
)
from tunesmith.sketches.cuda.rows.work import row_seconds
from tunesmith.sketches.sketch import ScheduleSketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.loop_nest import lower
from tunesmith.sketches.tir.row_stages import RowStages, known_row_stages, row_stages
from tunesmith.space import Categorical, Config, Constraint, Factorization, Ordinal, Space
from tunesmith.target import Target

# Elements of a row that a thread of the default has, and the threads of its blocks.
_ELEMENTS = 8
_THREADS = 128


class CudaRows(ScheduleSketch):
    """Shares rows among blocks; the threads of a block reduce a row together, in registers.

    Each block has several rows at a time, each row several threads, which copy, compute and store
    neighbouring vectors. Partial results of a reduction are added up by shuffles within a
    warp, and in shared memory among several. The row itself and what is computed of each element
    stay in registers or shared memory, or are read and computed again where they are used. For
    softmax and layer normalisation.
    """

    name: ClassVar[str] = "cuda_rows"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and row_stages(operator) is not None

    def space(self, operator: Operator, target: Target) -> Space:
        stages = known_row_stages(operator, self.name)
        places = (COMPUTED_AGAIN, REGISTERS, SHARED)
        return Space(
            [
                Factorization("tile_rows", stages.rows, 2),
                Ordinal("threads", _thread_counts(stages.length)),
                Ordinal("vector", _widths(operator, stages.length)),
                *(Categorical(f"keep_{name}", places) for name in kept(operator, stages)),
                Ordinal("auto_unroll_max_step", (0, 16, 64, 512)),
            ],
            [Constraint(f"tile_rows[1] * threads <= {LIMITS.threads}")],
        )

    def default(self, operator: Operator, target: Target) -> Config:
        stages = known_row_stages(operator, self.name)
        counts = _thread_counts(stages.length)
        wanted = max(WARP, stages.length // _ELEMENTS)
        threads = max(count for count in counts if count <= wanted)
        together = max(
            rows for rows in range(1, max(1, _THREADS // threads) + 1) if stages.rows % rows == 0
        )
        config = Config(
            {
                "tile_rows": (stages.rows // together, together),
                "threads": threads,
                "vector": _widths(operator, stages.length)[-1],
                **{f"keep_{name}": REGISTERS for name in kept(operator, stages)},
                "auto_unroll_max_step": 64,
            }
        )
        if limits_of(target).allow(tiling_of(operator, stages, config).use(operator, stages)):
            return config
        # Rows too long for the registers of a block are read and computed again.
        again = {f"keep_{name}": COMPUTED_AGAIN for name in kept(operator, stages)}
        return Config({**config, **again})

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        stages = known_row_stages(operator, self.name)

        def seconds(gpu: Gpu) -> float:
            return row_seconds(operator, stages, _checked(operator, target, stages, config), gpu)

        return estimated(target, seconds)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        return self.schedule(operator, target, config, lower(operator)).mod

    def schedule(self, operator: Operator, target: Target, config: Config, definition: Any) -> Any:
        stages = known_row_stages(operator, self.name)
        with instantiating(self.space(operator, target), config):
            tiling = _checked(operator, target, stages, config)
            shared = shared_scope(tiling.use(operator, stages).shared_bytes)
            return scheduled_rows(definition, stages, tiling, shared)


def _checked(operator: Operator, target: Target, stages: RowStages, config: Config) -> RowTiling:
    """What a config says. Raises ``InstantiationError`` where TVM compiles it to wrong code, or it
    exceeds the limits."""
    tiling = tiling_of(operator, stages, config)
    tiling.check(operator, stages)
    limits_of(target).check(tiling.use(operator, stages))
    return tiling


def tiling_of(operator: Operator, stages: RowStages, config: Config) -> RowTiling:
    """What a config of the sketch says."""
    chosen: dict[str, Any] = dict(config)
    return RowTiling(
        rows=chosen["tile_rows"],
        threads=chosen["threads"],
        vector=chosen["vector"],
        places={name: chosen[f"keep_{name}"] for name in kept(operator, stages)},
        auto_unroll_max_step=chosen["auto_unroll_max_step"],
    )


def _thread_counts(length: int) -> tuple[int, ...]:
    """Powers of two, which warps reduce by shuffles; no more than there are elements."""
    return emit.powers_up_to(min(LIMITS.threads, length))


def _widths(operator: Operator, length: int) -> tuple[int, ...]:
    """The vectors that rows consist of, and that a thread loads at once: 16 bytes at the most.

    TVM writes wrong code for eight halves of something computed, so there are no more than four.
    """
    most = min(4, 16 // bytes_of(operator.dtype))
    return tuple(width for width in (1, 2, 4) if width <= most and length % width == 0)
