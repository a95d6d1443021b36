"""The GPU sketch for chains of elementwise operations."""

# ruff: noqa: ARG002 - the same configs make sense on every GPU, whatever the target

from __future__ import annotations

from typing import Any, ClassVar

from tunesmith.operators import Elementwise, Operand, Operator, element_bits
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, bytes_of_tensors, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu, estimated
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.sketch import ScheduleSketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.instructions import instructions_of
from tunesmith.sketches.tir.loop_nest import lower
from tunesmith.sketches.tir.schedules import schedule_of
from tunesmith.space import Config, Ordinal, Space
from tunesmith.target import Target

_THREADS = (32, 64, 128, 256, 512, 1024)
_STEPS = (1, 2, 4, 8)
# The default's, where there are so many elements.
_DEFAULT_THREADS = 256
# Instructions of a load or a store, of finding the place of a vector, and of a division.
_ACCESS, _PLACE, _DIVISION = 3, 12, 8
# Cycles until data come from the L2 cache, and registers of a thread beside its vectors.
_L2_CYCLES, _OTHER_REGISTERS = 300, 20


class CudaElementwise(ScheduleSketch):
    """Neighbouring threads compute neighbouring vectors, each a few of them.

    A block has ``threads``, which do ``steps`` vectors of ``vector`` elements each, one after the
    other. All operations of a chain are done in registers.
    """

    name: ClassVar[str] = "cuda_elementwise"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and isinstance(operator, Elementwise)

    def space(self, operator: Operator, target: Target) -> Space:
        operator = known(self, operator, Elementwise)
        return Space(
            [
                Ordinal("threads", _thread_counts(operator)),
                Ordinal("vector", _widths(operator)),
                Ordinal("steps", _STEPS),
            ]
        )

    def default(self, operator: Operator, target: Target) -> Config:
        """The widest vectors, one a thread."""
        operator = known(self, operator, Elementwise)
        threads = max(n for n in _thread_counts(operator) if n <= _DEFAULT_THREADS)
        return Config({"threads": threads, "vector": _widths(operator)[-1], "steps": 1})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        return self.schedule(operator, target, config, lower(operator)).mod

    def schedule(self, operator: Operator, target: Target, config: Config, definition: Any) -> Any:
        operator = known(self, operator, Elementwise)
        with instantiating(self.space(operator, target), config):
            threads, vector, steps = _numbers(config)
            schedule = schedule_of(definition)
            (stage,) = schedule.get_child_blocks(schedule.get_sblock("root"))
            elements = schedule.fuse(*schedule.get_loops(stage))
            block, _, thread, inner = schedule.split(elements, [None, steps, threads, vector])
            schedule.bind(block, "blockIdx.x")
            schedule.bind(thread, "threadIdx.x")
            if vector > 1:
                schedule.vectorize(inner)
            return schedule

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator = known(self, operator, Elementwise)
        return estimated(target, lambda gpu: _seconds(operator, gpu, *_numbers(config)))


def _numbers(config: Config) -> tuple[int, int, int]:
    values: dict[str, Any] = dict(config)
    return values["threads"], values["vector"], values["steps"]


def _thread_counts(operator: Elementwise) -> tuple[int, ...]:
    """No more threads than there are elements, but a warp."""
    most = max(operator.result.elements, WARP)
    return tuple(count for count in _THREADS if count <= most)


def _widths(operator: Elementwise) -> tuple[int, ...]:
    """Vectors of 16 bytes at the most that lie in one channel, or in one row of channels.

    TVM writes wrong code for eight halves of something computed, so there are no more than four.
    """
    kinds = {kind for _, kind in operator.epilogue.operands}
    extent = operator.result.elements
    if Operand.CHANNEL in kinds:
        extent = operator.c if operator.inner == 1 else operator.inner
    most = min(4, 128 // element_bits(operator.dtype))
    return tuple(width for width in (1, 2, 4) if width <= most and extent % width == 0)


def _seconds(operator: Elementwise, gpu: Gpu, threads: int, vector: int, steps: int) -> float:
    """About how long a call takes."""
    kinds = [kind for _, kind in operator.epilogue.operands]
    streams = 2 + kinds.count(Operand.ELEMENT)
    work = instructions_of(operator.epilogue)
    computed = work.plain + _DIVISION * work.divisions
    blocks = emit.tile_count(operator.result.elements, threads * vector * steps)
    return seconds(
        BlockWork(
            threads=threads,
            registers=_OTHER_REGISTERS + 2 * vector,
            shared_bytes=0,
            steps=steps,
            arithmetic=threads * vector * computed / gpu.lanes,
            shared=0.0,
            instructions=threads / WARP * (vector * computed + _ACCESS * (2 + len(kinds)) + _PLACE),
            bytes=threads * vector * streams * element_bits(operator.dtype) / 8,
            waiting=_L2_CYCLES,
        ),
        blocks,
        gpu,
        bytes_of_tensors(operator),
    )
