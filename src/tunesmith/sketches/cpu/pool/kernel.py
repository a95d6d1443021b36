"""The program of pooling: tiles of windows, over planes (NCHW) or pixels' channels (NHWC)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tunesmith.operators import Pool2d
from tunesmith.sketches.cpu.depthwise.image_tiles import Blocking as Tile
from tunesmith.sketches.cpu.depthwise.image_tiles import ImageTiles
from tunesmith.sketches.cpu.depthwise.taps import RowOfTaps
from tunesmith.sketches.cpu.reduce.combining import Combining
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_of


@dataclass(frozen=True)
class Blocking:
    """The choices of a program.

    ``tile`` is that of a depthwise convolution. With ``rows_first`` the rows of a window are
    combined before its columns, so that a stride takes shuffles once a window and not once a row;
    otherwise columns are combined first, and all windows that read a row use its results.
    ``shared``: among the cores.
    """

    tile: Tile
    rows_first: bool
    shared: bool


def pool_program(operator: Pool2d, blocking: Blocking) -> Any:
    """The module of a blocking, whose ``main`` takes the data and the result."""

    def main(buffers: Sequence[Any]) -> None:
        _Kernel(operator, blocking, buffers).emit(shared=blocking.shared)

    return program_of(operator, main)


def combining_of(operator: Pool2d) -> Combining:
    """What is done with the values of a window, if all of them count."""
    count = math.prod(operator.kernel) if operator.kind == "avg" else 1
    return Combining(operator.kind, operator.dtype, count)


class _Kernel(ImageTiles):
    def __init__(self, operator: Pool2d, blocking: Blocking, buffers: Sequence[Any]) -> None:
        data, self.output = buffers
        super().__init__(operator, blocking.tile, operator.c, data, combining_of(operator).neutral)
        self.operator = operator
        self.rows_first = blocking.rows_first
        self.combine = combining_of(operator).combine

    def tile(self, y: Any, x: Any) -> None:
        axis = self.row_axis
        self._loaded: dict[tuple[int, int], Any | None] = {}
        rows = range(self.blocking.rows)
        sources = {row: [row * axis.stride + tap for tap in range(axis.taps)] for row in rows}
        if self.rows_first:
            made = {row: self._row(y, x, mine) for row, mine in sources.items()}
        else:
            each = {
                offset: self._row(y, x, [offset])
                for offset in sorted(set().union(*sources.values()))
            }
            made = {
                row: [self._one(values) for values in zip(*(each[s] for s in mine), strict=True)]
                for row, mine in sources.items()
            }
        for row, values in made.items():
            for vector, value in enumerate(values):
                self._finish(value, y + row, x, vector)

    def _row(self, y: Any, x: Any, sources: Sequence[int]) -> list[Any | None]:
        """Some rows of data combined along the windows, for each vector of windows."""
        plan = self.layout.plan

        def load(at: int) -> Any | None:
            return self._one([self._load(y, x, source, at) for source in sources])

        taps = RowOfTaps(plan, load, self.padding)
        columns = range(self.column_axis.taps)
        return [
            self._one([taps.vector(vector, column) for column in columns])
            for vector in range(len(plan.offsets))
        ]

    def _one(self, values: Sequence[Any | None]) -> Any | None:
        """Several vectors combined; None is a vector of padding."""
        found = [value for value in values if value is not None]
        return emit.bind("one", reduce(self.combine, found)) if found else None

    def _load(self, y: Any, x: Any, offset: int, at: int) -> Any | None:
        """The source vector at an offset from row ``y`` and from column ``x`` of the windows."""
        key = (offset, at)
        if key not in self._loaded:
            row = y * self.row_axis.stride + (offset - self.row_axis.padding)
            value = self.load(row, x, at)
            self._loaded[key] = None if value is None else emit.bind("source", value)
        return self._loaded[key]

    # -- results ---------------------------------------------------------------------------------

    def _finish(self, value: Any | None, y: Any, x: Any, vector: int) -> None:
        """Write a vector of results."""
        value = self.padding if value is None else value
        if self.operator.kind == "avg":
            value = self._mean(value, y, x + self.layout.plan.offsets[vector])
        place, index = self.place(x, y, vector)
        place.store(self.output, value, index)

    def _mean(self, value: Any, y: Any, column: Any) -> Any:
        """A sum divided by the number of elements that its window counts."""
        lanes, dtype = self.blocking.lanes, self.operator.dtype
        rows = self._taps(y, 0, 1)
        columns = self._taps(column, 1, lanes if self.along_columns else 1)
        if isinstance(rows, int) and isinstance(columns, int):
            return value * emit.constant(1 / (rows * columns), dtype, lanes)
        wide = []
        for count in (rows, columns):
            scalar = isinstance(count, int) or count is rows or not self.along_columns
            number = count if not isinstance(count, int) else emit.constant(count, "int32")
            wide.append(emit.broadcast(number, lanes) if scalar else number)
        return value / (wide[0] * wide[1]).astype(emit.vector_type(dtype, lanes))

    def _taps(self, first: Any, number: int, lanes: int) -> Any:
        """How many taps along an axis count in the windows from ``first`` on: one number where
        that is known."""
        axis, bounds = (self.row_axis, self.column_axis)[number], self.operator.counted(number)
        known = isinstance(first, int)
        if bounds is None or not (known or self.blocking.masked):
            return axis.taps
        if known:
            counts = {
                min(at + axis.taps, bounds[1]) - max(at, bounds[0])
                for lane in range(lanes)
                for at in [(first + lane) * axis.stride - axis.padding]
            }
            if len(counts) == 1:
                return counts.pop()
        from tvm.tirx.script.builder import ir

        at = first * axis.stride - axis.padding
        begin = ir.ramp(at, axis.stride, lanes) if lanes > 1 else at
        low, high = (emit.constant(bound, "int32", lanes) for bound in bounds)
        taps = emit.constant(axis.taps, "int32", lanes)
        return emit.minimum(begin + taps, high) - emit.maximum(begin, low)
