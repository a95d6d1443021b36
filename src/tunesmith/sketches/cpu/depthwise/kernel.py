"""The program of a depthwise convolution: tiles of rows and columns, one parallel region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import DepthwiseConv2d, Pool2d
from tunesmith.sketches.cpu.depthwise.taps import ColumnPlan, Lanes, RowOfTaps
from tunesmith.sketches.cpu.depthwise.windows import (
    Axis,
    Tiles,
    axes_of,
    for_each,
    for_each_of_band,
    tiles_of,
)
from tunesmith.sketches.tir import emit


@dataclass(frozen=True)
class Blocking:
    """The choices of a program.

    A register tile has ``rows`` rows of ``vectors`` vectors of ``lanes`` outputs; the vectors are
    side by side along the columns (NCHW), or one behind each pixel along the channels (NHWC).
    The rows of an image are shared among ``bands`` of one parallel loop, whose other steps are
    images and channels. ``columns_outside`` goes down the columns first, ``masked`` has one code
    for all tiles that loads under masks, in place of one each for those at the edges.
    """

    lanes: int
    rows: int
    vectors: int
    bands: int = 1
    columns_outside: bool = False
    masked: bool = False
    shuffled: bool = False


@dataclass(frozen=True)
class Layout:
    """What a blocking makes of an operator: its tiles, in numbers."""

    rows: Tiles
    columns: Tiles
    plan: ColumnPlan

    @property
    def multiply_adds(self) -> int:
        """How many vector multiply-adds the code has."""
        bodies = self.rows.bodies * self.columns.bodies
        return bodies * self.rows.size * len(self.plan.offsets)


def layout_of(operator: DepthwiseConv2d | Pool2d, blocking: Blocking) -> Layout:
    """The tiles of a blocking."""
    rows, columns = axes_of(operator)
    along_columns = operator.layout == "NCHW"
    width = blocking.lanes if along_columns else 1
    size = min(blocking.vectors * width, columns.count)
    # A tile as wide as the image has vectors that overlap; one wider than the image has masks.
    last = max(0, size - width)
    offsets = tuple(min(vector * width, last) for vector in range(blocking.vectors))
    plan = ColumnPlan(columns, width, offsets, blocking.shuffled)
    low, high = -rows.padding, (blocking.rows - 1) * rows.stride + rows.reach + 1 - rows.padding
    return Layout(
        tiles_of(rows, blocking.rows, low, high, masked=blocking.masked),
        tiles_of(columns, size, *plan.ends, masked=blocking.masked),
        plan,
    )


def depthwise_program(operator: DepthwiseConv2d, blocking: Blocking) -> Any:
    """The module of a blocking, whose ``main`` takes the operator's arguments and its result."""
    with (
        emit.module() as made,
        emit.function("main", [*operator.arguments, operator.result]) as buffers,
    ):
        _Kernel(operator, blocking, buffers).emit()
    return made[0]


class _Sums(dict[tuple[int, int], Any]):
    """The sums of a register tile by row and vector: values, not memory, for no loop is inside."""

    def add(self, place: tuple[int, int], product: Any) -> None:
        """Add a product, the first one to nothing."""
        value = self[place] + product if place in self else product
        self[place] = emit.bind("sum", value)


class _Kernel:
    def __init__(
        self, operator: DepthwiseConv2d, blocking: Blocking, buffers: Sequence[Any]
    ) -> None:
        self.operator = operator
        self.blocking = blocking
        self.layout = layout_of(operator, blocking)
        self.row_axis, self.column_axis = axes_of(operator)
        self.data, self.weight, *self.extra, self.output = buffers
        self.along_columns = operator.layout == "NCHW"
        self.channels = operator.c * operator.multiplier
        self._zero = emit.constant(0, operator.dtype, blocking.lanes)

    def emit(self) -> None:
        lanes, bands = self.blocking.lanes, self.blocking.bands
        width = 1 if self.along_columns else lanes
        groups = emit.tile_count(self.channels, width)
        with emit.parallel(self.operator.n * bands * groups, "task") as task:
            band = emit.bind("band", task // groups % bands) if bands > 1 else 0
            self.image = emit.bind("image", task // (groups * bands))
            if groups == 1:
                self.channel: Any = 0
            else:
                start = emit.tile_start(task % groups, width, self.channels)
                self.channel = emit.bind("channel", start)
            self._load_weights()
            self._each_tile(band)

    def _each_tile(self, band: Any) -> None:
        rows, columns, bands = self.layout.rows, self.layout.columns, self.blocking.bands

        def each_row(body: Callable[[Any], None]) -> None:
            for_each_of_band(rows, "y", band, bands, body)

        if self.blocking.columns_outside:
            for_each(columns, "x", lambda x: each_row(lambda y: self._tile(y, x)))
        else:
            each_row(lambda y: for_each(columns, "x", lambda x: self._tile(y, x)))

    def _load_weights(self) -> None:
        """The weights of the channels at hand, which stay in registers as far as these go."""
        lanes, many = self.blocking.lanes, self.operator.multiplier
        self.taps: dict[tuple[int, int], Any] = {}
        for row in range(self.row_axis.taps):
            for column in range(self.column_axis.taps):
                if self.along_columns:
                    index = [self.channel // many, self.channel % many, row, column]
                    value = emit.broadcast(emit.load(self.weight, index), lanes)
                else:
                    # All channels of a tap are consecutive: as if there were a single input.
                    value = self._channels().load(self.weight, [row, column, 0])
                self.taps[row, column] = emit.bind("weight", value)

    def _channels(self, condition: Any = None) -> Lanes:
        """The channels of a vector along them."""
        lanes = self.blocking.lanes
        return Lanes(self.channel, lanes, self.channels, condition=condition)

    # -- a register tile -------------------------------------------------------------------------

    def _tile(self, y: Any, x: Any) -> None:
        rows, vectors = self.blocking.rows, len(self.layout.plan.offsets)
        axis, sums = self.row_axis, _Sums()
        for offset in range((rows - 1) * axis.stride + axis.reach + 1):
            users = self._users(offset)
            if users:
                self._add_row(sums, y, x, offset, users)
        for row in range(rows):
            for vector in range(vectors):
                self._finish(sums.get((row, vector), self._zero), y + row, x, vector)

    def _users(self, offset: int) -> list[tuple[int, int]]:
        """The rows of the tile, and their taps, that need the row of inputs at an offset."""
        axis = self.row_axis
        found = []
        for row in range(self.blocking.rows):
            tap, between = divmod(offset - row * axis.stride, axis.dilation)
            if not between and 0 <= tap < axis.taps:
                found.append((row, tap))
        return found

    def _add_row(
        self, sums: _Sums, y: Any, x: Any, offset: int, users: list[tuple[int, int]]
    ) -> None:
        """Add the products of one row of inputs."""
        source = y * self.row_axis.stride + (offset - self.row_axis.padding)
        inside = self._inside(source, self.row_axis)
        if inside is False:
            return
        vectors = len(self.layout.plan.offsets)
        taps = RowOfTaps(
            self.layout.plan, lambda column: self._load(source, x, column, inside), self._zero
        )
        for vector in range(vectors):
            for column in range(self.column_axis.taps):
                value = taps.vector(vector, column)
                if value is None:
                    continue
                for row, tap in users:
                    sums.add((row, vector), value * self.taps[tap, column])

    def _load(self, row: Any, x: Any, offset: int, inside: Any) -> Any | None:
        """The source vector at an offset from column ``x`` of the outputs."""
        axis, condition = self.column_axis, None if inside is True else inside
        column = x * axis.stride + offset
        if self.along_columns:
            many = self.operator.multiplier
            lanes = Lanes(column, self.blocking.lanes, axis.size, self.blocking.masked, condition)
            return lanes.load(self.data, [self.image, self.channel // many, row])
        there = self._inside(column, axis)
        if there is False:
            return None
        if there is not True:
            condition = there if condition is None else _both(condition, there)
        return self._channels(condition).load(self.data, [self.image, row, column])

    def _inside(self, position: Any, axis: Axis) -> Any:
        """Whether a row or column is in the image: True, False, or what to ask."""
        if isinstance(position, int):
            return 0 <= position < axis.size
        if not self.blocking.masked or axis.padding == 0:
            return True
        return _both(position >= 0, position < axis.size)

    # -- what follows the sums -------------------------------------------------------------------

    def _finish(self, value: Any, y: Any, x: Any, vector: int) -> None:
        """Write a vector of results."""
        from tvm import tirx

        lanes, dtype = self.blocking.lanes, self.operator.dtype
        offset = self.layout.plan.offsets[vector]
        if self.along_columns:
            place = Lanes(x + offset, lanes, self.column_axis.count)
            index = [self.image, self.channel, y]
        else:
            place = self._channels()
            index = [self.image, y, x + offset]
        if self.operator.bias:
            if self.along_columns:
                bias = emit.broadcast(emit.load(self.extra[0], [self.channel]), lanes)
            else:
                bias = place.load(self.extra[0], [])
            value = value + bias
        if self.operator.residual:
            value = value + place.load(self.extra[-1], index)
        if self.operator.relu:
            value = tirx.max(value, emit.constant(0, dtype, lanes))
        place.store(self.output, value, index)


def _both(first: Any, second: Any) -> Any:
    from tvm import tirx

    return tirx.all(first, second)
