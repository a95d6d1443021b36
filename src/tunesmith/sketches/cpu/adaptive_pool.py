"""The CPU sketch for adaptive pooling, whose windows differ in size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import AdaptivePool2d, Operator
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.reduce.combining import Combining
from tunesmith.sketches.cpu.rows.elements import Elements
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Registers
from tunesmith.sketches.tir.weights import program_of
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Space
from tunesmith.target import Target

_VECTORS = (1, 2, 4, 8)
# Columns of the output up to which the code for each is written out.
_MOST_WRITTEN_OUT = 64
# Fewer elements than this are not worth waking another core for.
_ELEMENTS_WORTH_SHARING = 65536
# What a row of the output costs beside its elements, in cycles.
_ROW_CYCLES = 20


class CpuAdaptivePool(Sketch):
    """Combines the rows of windows as vectors, then the columns of each window one by one.

    Images and channels are shared among the cores. A maximum of values among which there is NaN may
    be any of them.
    """

    name: ClassVar[str] = "cpu_adaptive_pool"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, AdaptivePool2d)

    def space(self, operator: Operator, target: Target) -> Space:
        operator = known(self, operator, AdaptivePool2d)
        return _space(operator, target.lanes(operator.accumulate_dtype), target.core_count)

    def default(self, operator: Operator, target: Target) -> Config:
        operator = known(self, operator, AdaptivePool2d)
        lanes = _lanes(operator, target.lanes(operator.accumulate_dtype))[-1]
        worth = operator.arguments[0].elements >= _ELEMENTS_WORTH_SHARING
        vectors = max(count for count in _VECTORS if count == 1 or count * lanes <= operator.w)
        return Config(
            {"lanes": lanes, "vectors": vectors, "shared": worth and target.core_count > 1}
        )

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, AdaptivePool2d)
        choices: dict[str, Any] = dict(config)
        shared = choices.pop("shared")
        with instantiating(self.space(operator, target), config):

            def main(buffers: Sequence[Any]) -> None:
                _Planes(operator, buffers, **choices).emit(shared=shared)

            return program_of(operator, main)

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        """The vectors of rows, then the elements of columns; one core's share of the planes."""
        operator, machine = known(self, operator, AdaptivePool2d), Machine.of(target)
        choices: dict[str, Any] = dict(config)
        lanes, side_by_side, shared = (choices[name] for name in ("lanes", "vectors", "shared"))
        planes = operator.n * operator.c
        rows, columns = (
            sum(end - start for start, end in operator.windows(axis)) for axis in range(2)
        )
        step = machine.register_tile_cycles(side_by_side, side_by_side)
        step *= machine.vectors(lanes, operator.accumulate_dtype)
        tiles = emit.tile_count(operator.w, lanes * side_by_side)
        along = columns + operator.output_size[1] * machine.core.fma_latency + _ROW_CYCLES
        cycles = rows * tiles * step + operator.output_size[0] * (along + tiles * side_by_side)
        rounds = machine.rounds(planes) if shared else planes
        part = operator.arguments[0].bytes * rounds / planes
        total = machine.overlapped(rounds * cycles, machine.stream_cycles(part, part))
        return machine.seconds(total, regions=int(shared))


def _lanes(operator: AdaptivePool2d, widest: int) -> tuple[int, ...]:
    """The widest vectors that a row fills, and half of them."""
    most = min(widest, emit.power_of_two(operator.w))
    return (most // 2, most) if most > 1 else (1,)


@lru_cache(maxsize=64)
def _space(operator: AdaptivePool2d, widest: int, cores: int) -> Space:
    lanes = _lanes(operator, widest)
    wide = max(operator.w, lanes[-1])
    return Space(
        [
            Ordinal("lanes", lanes),
            Ordinal("vectors", tuple(n for n in _VECTORS if n * lanes[0] <= wide)),
            Categorical("shared", (False, True) if cores > 1 else (False,)),
        ],
        [Constraint(f"vectors * lanes <= {wide}")],
    )


class _Planes:
    """The code for each image and channel.

    A row of the output needs ``vectors`` of ``lanes`` at a time of the data's rows in its windows.
    They become a row in memory, of which each element of the output is a part.
    """

    def __init__(
        self, operator: AdaptivePool2d, buffers: Sequence[Any], lanes: int, vectors: int
    ) -> None:
        self.operator = operator
        self.combining = Combining(operator.kind, operator.accumulate_dtype)
        self.data, self.output = (Elements(each, self.combining.total) for each in buffers)
        self.lanes, self.vectors = lanes, vectors

    def emit(self, *, shared: bool) -> None:
        """Emit the loop over images and channels."""
        operator, (high, _) = self.operator, self.operator.output_size
        loop = emit.parallel if shared else emit.serial
        with loop(operator.n * operator.c, "plane") as plane:
            row = emit.buffer("row", (operator.w,), self.combining.total)
            with emit.serial(high, "y") as y:
                top, bottom = (emit.bind(*bound) for bound in self._window(y, 0))
                base = emit.bind("base", (plane * operator.h + top) * operator.w)
                self._combine_rows(base, bottom - top, row)
                self._each_column(plane * high + y, bottom - top, row)

    def _window(self, number: Any, axis: int) -> tuple[tuple[str, Any], tuple[str, Any]]:
        """Where a window begins and ends, with names for both."""
        operator = self.operator
        size, count = (operator.h, operator.w)[axis], operator.output_size[axis]
        begin, end = number * size // count, ((number + 1) * size + (count - 1)) // count
        return ("begin", begin), ("end", end)

    def _combine_rows(self, base: Any, count: Any, row: Any) -> None:
        """Combine ``count`` rows of the data from ``base`` on into one."""
        operator, lanes = self.operator, self.lanes
        size = lanes * self.vectors
        with emit.serial(emit.tile_count(operator.w, size), "tile") as tile:
            first = emit.bind("first", emit.tile_start(tile, size, operator.w))
            sofar = Registers("so_far", self.vectors, lanes, self.combining.total)
            for vector in range(self.vectors):
                sofar[vector] = self.data.load(base + first + vector * lanes, lanes)
            with emit.serial(count - 1, "more") as more:
                at = emit.bind("at", base + (more + 1) * operator.w + first)
                for vector in range(self.vectors):
                    value = self.data.load(at + vector * lanes, lanes)
                    sofar[vector] = self.combining.combine(sofar[vector], value)
            for vector in range(self.vectors):
                emit.store(row, sofar[vector], [first + vector * lanes], lanes)

    def _each_column(self, output_row: Any, rows: Any, row: Any) -> None:
        """Write the elements of a row of the output, which are of ``rows`` rows of the data."""
        wide = self.operator.output_size[1]
        if wide <= _MOST_WRITTEN_OUT:
            for x in range(wide):
                self._element(output_row * wide + x, rows, row, x)
            return
        with emit.serial(wide, "x") as x:
            self._element(output_row * wide + x, rows, row, x)

    def _element(self, place: Any, rows: Any, row: Any, x: Any) -> None:
        left, right = (emit.bind(*bound) for bound in self._window(x, 1))
        value = Registers("element", 1, 1, self.combining.total)
        value[0] = emit.load(row, [left])
        with emit.serial(right - left - 1, "more") as more:
            value[0] = self.combining.combine(value[0], emit.load(row, [left + 1 + more]))
        result = value[0]
        if self.operator.kind == "avg":
            count, total = rows * (right - left), self.combining.total
            known_count = isinstance(count, int)
            result = result / (emit.constant(count, total) if known_count else count.astype(total))
        self.output.store(result, place, 1)
