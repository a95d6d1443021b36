"""The CPU sketch for look-ups: rows copied as vectors, shared among the cores where it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Embedding, Operator, element_bits
from tunesmith.sketches.cpu.gemm.blocking import share
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.vectors import bits_of
from tunesmith.sketches.tir.weights import program_of
from tunesmith.space import Config, Constraint, Ordinal, Space
from tunesmith.target import Target

_UNROLL = (1, 2, 4, 8)
# Fewer bytes than this are not worth waking another core for.
_BYTES_PER_TASK = 1 << 17
# Cycles of a row beside its copy: the index, and the first line of a row anywhere in memory, of
# which several are on their way at once.
_ROW_CYCLES = 20.0


class CpuEmbedding(Sketch):
    """Copies each row as vectors; the last vector of a row overlaps the one before it.

    The rows of the result are shared among ``tasks``; 1 wakes no other core. ``unroll`` vectors are
    a step. ``prefetch`` requests the row that is that many rows ahead (0: none), since the hardware
    cannot know where it is.
    """

    name: ClassVar[str] = "cpu_embedding"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, Embedding)

    def space(self, operator: Operator, target: Target) -> Space:
        operator = known(self, operator, Embedding)
        return _space(operator, target.lanes(operator.dtype), target.core_count)

    def default(self, operator: Operator, target: Target) -> Config:
        operator = known(self, operator, Embedding)
        lanes = _lanes(operator.width, target.lanes(operator.dtype))[-1]
        wanted = min(max(1, operator.result.bytes // _BYTES_PER_TASK), target.core_count)
        return Config(
            {
                "lanes": lanes,
                "unroll": max(n for n in _UNROLL if n <= max(1, operator.width // lanes)),
                "tasks": max(n for n in _tasks(operator.n, target.core_count) if n <= wanted),
                "prefetch": 1,
            }
        )

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, Embedding)
        chosen: dict[str, Any] = dict(config)
        with instantiating(self.space(operator, target), config):
            return _program(operator, **chosen)

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator, machine = known(self, operator, Embedding), Machine.of(target)
        chosen: dict[str, Any] = dict(config)
        bytes_of_row = operator.width * element_bits(operator.dtype) / 8
        vectors = emit.tile_count(operator.width, chosen["lanes"])
        steps = emit.tile_count(vectors, chosen["unroll"])
        row = vectors / min(machine.core.loads, machine.core.stores) + steps
        # A row anywhere in the table, and one of the result that is written.
        moved = machine.stream_cycles(2 * bytes_of_row, operator.arguments[1].bytes)
        row = machine.overlapped(row, moved) + _ROW_CYCLES / (1 + min(1, chosen["prefetch"]))
        tasks = chosen["tasks"]
        cycles = machine.parallel_share(tasks) * operator.n * row
        return machine.seconds(cycles, regions=int(tasks > 1))


def _program(operator: Embedding, lanes: int, unroll: int, tasks: int, prefetch: int) -> Any:
    sweep = Sweep(operator.width, lanes, unroll)

    def main(buffers: Sequence[Any]) -> None:
        indices, *tensors = buffers
        table, output = (bits_of(emit.flat(tensor)) for tensor in tensors)

        def row_of(number: Any) -> Any:
            """Where the row of an index begins."""
            last = emit.constant(operator.rows - 1, operator.index_dtype)
            inside = emit.minimum(emit.load(indices, [number]), last)
            inside = emit.maximum(inside, emit.constant(0, operator.index_dtype))
            return inside.astype("int32") * operator.width

        def copy(number: Any) -> None:
            source = emit.bind("source", row_of(number))
            target = emit.bind("target", number * operator.width)
            if prefetch:
                _prefetch(number)

            def move(starts: Sequence[Any], _fresh: int) -> None:
                loaded = [
                    emit.bind("loaded", emit.load(table, [source + start], lanes))
                    for start in starts
                ]
                for start, value in zip(starts, loaded, strict=True):
                    emit.store(output, value, [target + start], lanes)

            sweep.each(move)

        def _prefetch(number: Any) -> None:
            """The row of a later index; of a long one, the lines that a hardware prefetcher needs
            to see before it goes on by itself."""
            later = emit.minimum(number + prefetch, operator.n - 1)
            first = emit.bind("later", row_of(later))
            line = emit.line_elements(operator.dtype)
            for start in range(0, min(operator.width, 4 * line), line):
                emit.prefetch(table, [first + start])

        if tasks == 1:
            with emit.serial(operator.n, "row") as number:
                copy(number)
            return
        with emit.parallel(tasks, "task") as task:
            first, count = share(task, tasks, operator.n)
            with emit.serial(count, "row") as number:
                copy(emit.bind("number", first + number))

    return program_of(operator, main)


def _lanes(width: int, widest: int) -> tuple[int, ...]:
    """The widest vectors that a row fills, and half of them."""
    most = min(widest, emit.power_of_two(width))
    return (most // 2, most) if most > 1 else (1,)


def _tasks(count: int, cores: int) -> tuple[int, ...]:
    """How many tasks may share the rows: one, or a few for each core."""
    if cores == 1:
        return (1,)
    return (1, *(cores * each for each in (1, 2, 4) if cores * each <= count))


@lru_cache(maxsize=64)
def _space(operator: Embedding, widest: int, cores: int) -> Space:
    lanes = _lanes(operator.width, widest)
    return Space(
        [
            Ordinal("lanes", lanes),
            Ordinal("unroll", _UNROLL),
            Ordinal("tasks", _tasks(operator.n, cores)),
            Ordinal("prefetch", [ahead for ahead in (0, 1, 2, 4) if ahead < max(2, operator.n)]),
        ],
        [Constraint(f"unroll == 1 or unroll * lanes <= {operator.width}")],
    )
