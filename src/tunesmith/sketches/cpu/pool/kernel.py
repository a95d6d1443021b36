"""The program of pooling: tiles of windows, over planes (NCHW) or pixels' channels (NHWC)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tunesmith.operators import Pool2d
from tunesmith.sketches.cpu.depthwise.kernel import Blocking as Tile
from tunesmith.sketches.cpu.depthwise.kernel import layout_of
from tunesmith.sketches.cpu.depthwise.taps import Lanes, RowOfTaps
from tunesmith.sketches.cpu.depthwise.windows import Axis, axes_of, for_each, for_each_of_band
from tunesmith.sketches.tir import emit


@dataclass(frozen=True)
class Blocking:
    """The choices of a program.

    ``tile`` is that of a depthwise convolution. With ``rows_first`` the rows of a window become one
    before its columns do, so that a stride's shuffles are made once a window and not once a row;
    otherwise the columns do, and the results of a row are there for all windows that need it.
    ``shared``: among the cores.
    """

    tile: Tile
    rows_first: bool
    shared: bool


def pool_program(operator: Pool2d, blocking: Blocking) -> Any:
    """The module of a blocking, whose ``main`` takes the data and the result."""
    with (
        emit.module() as made,
        emit.function("main", [*operator.arguments, operator.result]) as buffers,
    ):
        _Kernel(operator, blocking, buffers).emit()
    return made[0]


def combination(operator: Pool2d) -> Callable[[Any, Any], Any]:
    """How two values of a window become one."""
    return emit.maximum if operator.kind == "max" else lambda value, other: value + other


class _Kernel:
    def __init__(self, operator: Pool2d, blocking: Blocking, buffers: Sequence[Any]) -> None:
        self.operator = operator
        self.blocking = blocking
        self.tile = blocking.tile
        self.layout = layout_of(operator, blocking.tile)
        self.row_axis, self.column_axis = axes_of(operator)
        self.data, self.output = buffers
        self.along_columns = operator.layout == "NCHW"
        self.combine = combination(operator)
        # What padding is, so that it changes nothing.
        self.fill = -math.inf if operator.kind == "max" else 0.0
        self._padding = emit.constant(self.fill, operator.dtype, self.tile.lanes)

    def emit(self) -> None:
        width, bands = 1 if self.along_columns else self.tile.lanes, self.tile.bands
        groups = emit.tile_count(self.operator.c, width)
        loop = emit.parallel if self.blocking.shared else emit.serial
        with loop(self.operator.n * bands * groups, "task") as task:
            band = emit.bind("band", task // groups % bands) if bands > 1 else 0
            self.image = emit.bind("image", task // (groups * bands))
            # A known start, where channels are fewer than lanes: then vectors are masked.
            self.channel: Any = 0
            if groups > 1:
                start = emit.tile_start(task % groups, width, self.operator.c)
                self.channel = emit.bind("channel", start)
            self._each_tile(band)

    def _each_tile(self, band: Any) -> None:
        rows, columns, bands = self.layout.rows, self.layout.columns, self.tile.bands

        def each_row(body: Callable[[Any], None]) -> None:
            for_each_of_band(rows, "y", band, bands, body)

        each_row(lambda y: for_each(columns, "x", lambda x: self._windows(y, x)))

    # -- a tile ----------------------------------------------------------------------------------

    def _windows(self, y: Any, x: Any) -> None:
        axis = self.row_axis
        self._loaded: dict[tuple[int, int], Any | None] = {}
        rows = range(self.tile.rows)
        sources = {row: [row * axis.stride + tap for tap in range(axis.taps)] for row in rows}
        if self.blocking.rows_first:
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
        """What windows side by side make of some rows of data, for each vector of windows."""
        plan = self.layout.plan

        def load(at: int) -> Any | None:
            return self._one([self._load(y, x, source, at) for source in sources])

        taps = RowOfTaps(plan, load, self._padding)
        columns = range(self.column_axis.taps)
        return [
            self._one([taps.vector(vector, column) for column in columns])
            for vector in range(len(plan.offsets))
        ]

    def _one(self, values: Sequence[Any | None]) -> Any | None:
        """One vector of several; those that are nothing but padding count for nothing."""
        found = [value for value in values if value is not None]
        return emit.bind("one", reduce(self.combine, found)) if found else None

    def _load(self, y: Any, x: Any, offset: int, at: int) -> Any | None:
        """The source vector at an offset from row ``y`` and from column ``x`` of the windows."""
        key = (offset, at)
        if key not in self._loaded:
            value = self._source(y, x, offset, at)
            self._loaded[key] = None if value is None else emit.bind("source", value)
        return self._loaded[key]

    def _source(self, y: Any, x: Any, offset: int, at: int) -> Any | None:
        row = y * self.row_axis.stride + (offset - self.row_axis.padding)
        inside = self._inside(row, self.row_axis)
        if inside is False:
            return None
        conditions = [] if inside is True else [inside]
        column = x * self.column_axis.stride + at
        if self.along_columns:
            condition = conditions[0] if conditions else None
            size, checked = self.column_axis.size, self.tile.masked
            lanes = Lanes(column, self.tile.lanes, size, checked, condition, self.fill)
            return lanes.load(self.data, [self.image, self.channel, row])
        there = self._inside(column, self.column_axis)
        if there is False:
            return None
        conditions += [] if there is True else [there]
        condition = reduce(_both, conditions) if conditions else None
        return self._channels(condition).load(self.data, [self.image, row, column])

    def _inside(self, position: Any, axis: Axis) -> Any:
        """Whether a row or column is in the image: True, False, or what to ask."""
        if isinstance(position, int):
            return 0 <= position < axis.size
        if not self.tile.masked or axis.padding == 0:
            return True
        return _both(position >= 0, position < axis.size)

    def _channels(self, condition: Any = None) -> Lanes:
        """The channels of a vector along them."""
        lanes, fill = self.tile.lanes, self.fill
        return Lanes(self.channel, lanes, self.operator.c, condition=condition, fill=fill)

    # -- results ---------------------------------------------------------------------------------

    def _finish(self, value: Any | None, y: Any, x: Any, vector: int) -> None:
        """Write a vector of results."""
        column = x + self.layout.plan.offsets[vector]
        value = self._padding if value is None else value
        if self.operator.kind == "avg":
            value = self._mean(value, y, column)
        if self.along_columns:
            place = Lanes(column, self.tile.lanes, self.column_axis.count)
            place.store(self.output, value, [self.image, self.channel, y])
        else:
            self._channels().store(self.output, value, [self.image, y, column])

    def _mean(self, value: Any, y: Any, column: Any) -> Any:
        """A sum over how many elements of its window count."""
        lanes, dtype = self.tile.lanes, self.operator.dtype
        rows = self._taps(y, self.row_axis, 1)
        columns = self._taps(column, self.column_axis, lanes if self.along_columns else 1)
        if isinstance(rows, int) and isinstance(columns, int):
            return value * emit.constant(1 / (rows * columns), dtype, lanes)
        wide = []
        for count in (rows, columns):
            spread = isinstance(count, int) or count is rows or not self.along_columns
            number = count if not isinstance(count, int) else emit.constant(count, "int32")
            wide.append(emit.broadcast(number, lanes) if spread else number)
        return value / (wide[0] * wide[1]).astype(emit.vector_type(dtype, lanes))

    def _taps(self, first: Any, axis: Axis, lanes: int) -> Any:
        """How many taps of the windows from ``first`` on count: one number where that is known."""
        if self.operator.count_include_pad or axis.padding == 0:
            return axis.taps
        known = isinstance(first, int)
        if not known and not self.tile.masked:
            return axis.taps
        if known:
            counts = {
                min(at + axis.taps, axis.size) - max(at, 0)
                for lane in range(lanes)
                for at in [(first + lane) * axis.stride - axis.padding]
            }
            if len(counts) == 1:
                return counts.pop()
        from tvm.tirx.script.builder import ir

        at = first * axis.stride - axis.padding
        begin = ir.ramp(at, axis.stride, lanes) if lanes > 1 else at
        size, zero = (emit.constant(number, "int32", lanes) for number in (axis.size, 0))
        taps = emit.constant(axis.taps, "int32", lanes)
        return emit.minimum(begin + taps, size) - emit.maximum(begin, zero)


def _both(first: Any, second: Any) -> Any:
    from tvm import tirx

    return tirx.all(first, second)
