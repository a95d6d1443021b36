"""Rows shared out among blocks, and each row among threads, which reduce it together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator, element_bits
from tunesmith.sketches.cuda.limits import WARP, BlockUse
from tunesmith.sketches.tir.row_stages import RowStages
from tunesmith.sketches.tir.schedules import schedule_of

COMPUTED_AGAIN, REGISTERS, SHARED = "no", "registers", "shared"
"""Where a stage's values of a row may be kept until they are used again."""


@dataclass(frozen=True)
class RowTiling:
    """``rows`` are the blocks and the rows of each; ``threads`` are those of a row.

    Of each ``vector`` of neighbours one thread loads, computes and stores all. ``places`` says
    where the row itself and the stages of ``kept`` are kept. ``auto_unroll_max_step`` is the length
    of code up to which the CUDA compiler unrolls loops.
    """

    rows: tuple[int, int]
    threads: int
    vector: int
    places: Mapping[str, str]
    auto_unroll_max_step: int

    def use(self, operator: Operator, stages: RowStages) -> BlockUse:
        """What a block takes of the GPU."""
        blocks, rows = self.rows
        sizes = kept(operator, stages)
        steps = math.ceil(stages.length / (self.threads * self.vector))
        in_registers = sum(sizes[name] for name, place in self.places.items() if place == REGISTERS)
        # TVM lets a stage reuse the memory of what it reads, if the sizes are the same.
        in_shared = sum({sizes[name] for name, place in self.places.items() if place == SHARED})
        return BlockUse(
            threads=(self.threads, rows, 1),
            grid=(blocks, 1, 1),
            vthreads=1,
            register_bytes=steps * self.vector * in_registers,
            shared_bytes=rows * stages.length * in_shared
            + sum(rows * self._partial_results(dtype) * bytes_of(dtype) for dtype in stages.sums),
        )

    def check(self, operator: Operator, stages: RowStages) -> None:
        """Raises ``InstantiationError`` for what TVM compiles to wrong code.

        A stage of one element a thread would reuse the memory of the total that it is computed
        from, unless it can reuse that of the thread's element of the row.
        """
        one = self.vector == 1 and self.threads >= stages.length and self.threads > WARP
        long = any(self.places[name] == REGISTERS for name in stages.long)
        if one and long and self.places[operator.arguments[0].name] != REGISTERS:
            raise InstantiationError(
                f"{self.threads} threads keep one element each of a row of {stages.length}: take "
                "fewer, compute it again, or keep the row in registers as well"
            )

    def _partial_results(self, dtype: str) -> int:
        """How many values of a reduction are in shared memory, where shuffles are not enough.

        With several warps, one of each and the total; with a type that TVM cannot shuffle, one of
        each thread.
        """
        if dtype == "bfloat16":
            return self.threads if self.threads > 1 else 0
        warps = self.threads // WARP
        return warps + 1 if warps > 1 else 0


def kept(operator: Operator, stages: RowStages) -> dict[str, int]:
    """What may be kept of each element, and its bytes: the operator's data, and long stages."""
    data = operator.arguments[0]
    long = dict.fromkeys(stages.long, bytes_of(operator.accumulate_dtype))
    return {data.name: bytes_of(data.dtype), **long}


def bytes_of(dtype: str) -> int:
    """The bytes of an element."""
    return element_bits(dtype) // 8


def scheduled_rows(module: Any, stages: RowStages, tiling: RowTiling, shared: str) -> Any:
    """The schedule of a module with these stages, whose function reads its data first.

    ``shared`` is the scope of what is kept in shared memory.
    """
    schedule = schedule_of(module)
    for name in stages.elementwise:
        # Stages of one value a row are inlined, too: TVM would let them reuse the memory of the
        # total that they are computed from, which all threads share.
        if tiling.places.get(name, COMPUTED_AGAIN) == COMPUTED_AGAIN:
            schedule.compute_inline(schedule.get_sblock(name))
    places = dict(tiling.places)
    data = str(module["main"].params[0].name)
    if places[data] != COMPUTED_AGAIN:
        first = schedule.get_sblock(stages.reductions[0])
        copy = schedule.cache_read(first, data, "local")
        places[str(schedule.get(copy).name_hint)] = places[data]
    output = schedule.get_sblock(stages.output)
    rows, columns = schedule.get_loops(output)
    block, row = schedule.split(rows, list(tiling.rows))
    schedule.bind(block, "blockIdx.x")
    schedule.bind(row, "threadIdx.y")
    _share_out(schedule, columns, tiling, vectorized=True)
    # Backwards: consumers of a stage have their place first.
    for stage in reversed(schedule.get_child_blocks(schedule.get_sblock("root"))):
        name = str(schedule.get(stage).name_hint)
        if name == stages.output:
            continue
        schedule.compute_at(stage, row, preserve_unit_loops=True)
        schedule.set_scope(stage, 0, shared if places.get(name) == SHARED else "local")
        if name in stages.reductions:
            _share_out(schedule, schedule.get_loops(stage)[-1], tiling, vectorized=False)
        elif len(schedule.get(stage).iter_vars) > 1:
            _share_out(schedule, schedule.get_loops(stage)[-1], tiling, vectorized=True)
    if tiling.auto_unroll_max_step:
        schedule.annotate(block, "pragma_auto_unroll_max_step", tiling.auto_unroll_max_step)
        schedule.annotate(block, "pragma_unroll_explicit", 0)
    return schedule


def _share_out(schedule: Any, columns: Any, tiling: RowTiling, *, vectorized: bool) -> None:
    """Share the elements of a row out among its threads, each time in the same way.

    Vectors are split off first: the last threads may have fewer, but no thread a part of one.
    """
    vectors, vector = schedule.split(columns, [None, tiling.vector])
    _, thread = schedule.split(vectors, [None, tiling.threads])
    schedule.bind(thread, "threadIdx.x")
    if vectorized and tiling.vector > 1:
        schedule.vectorize(vector)
