"""Tiles of rows and columns of images: what depthwise convolution and pooling have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import DepthwiseConv2d, Pool2d
from tunesmith.sketches.cpu.depthwise.taps import ColumnPlan, Lanes
from tunesmith.sketches.cpu.depthwise.windows import (
    Axis,
    Tiles,
    axes_of,
    for_each,
    for_each_of_band,
    tiles_of,
)
from tunesmith.sketches.tir import emit
from tunesmith.space import Config


@dataclass(frozen=True)
class Blocking:
    """The choices of a program.

    A register tile has ``rows`` rows of ``vectors`` vectors of ``lanes`` outputs; the vectors are
    side by side along the columns (NCHW), or at neighbouring pixels along the channels (NHWC).
    One parallel loop runs over images, channels and ``bands`` of rows. With ``columns_outside`` the
    loop over columns is the outer one. With ``masked`` all tiles have the same code, which loads
    under masks; otherwise tiles at the edges have code of their own.
    """

    lanes: int
    rows: int
    vectors: int
    bands: int = 1
    columns_outside: bool = False
    masked: bool = False
    shuffled: bool = False

    @staticmethod
    def of(config: Config) -> Blocking:
        """What a config says."""
        values: dict[str, Any] = dict(config)
        return Blocking(
            **{name: values[name] for name in ("lanes", "rows", "vectors", "bands")},
            columns_outside=values.get("order") == ("columns", "rows"),
            masked=values["edges"] == "masked",
            shuffled=values.get("shifts") == "shuffles",
        )


def tile_values(
    operator: DepthwiseConv2d | Pool2d,
    lanes: Sequence[int],
    rows: Sequence[int],
    vectors: Sequence[int],
    bands: Sequence[int],
) -> dict[str, tuple[int, ...]]:
    """The values of the parameters of tiles: of those given, what an image has room for."""
    high, wide = operator.output_image
    most = -(-wide // lanes[0]) if operator.layout == "NCHW" else wide
    return {
        "lanes": tuple(lanes),
        "rows": tuple(count for count in rows if count <= high),
        "vectors": tuple(count for count in vectors if count <= most),
        "bands": tuple(count for count in bands if count <= high),
    }


def lanes_for(extent: int, widest: int) -> tuple[int, ...]:
    """Vectors of which at least half is used, from a quarter of a register on."""
    lengths = [lanes for lanes in (widest, widest // 2, widest // 4) if lanes >= 2]
    used = [lanes for lanes in lengths if lanes < 2 * extent]
    return tuple(sorted(used or lengths[-1:]))


@dataclass(frozen=True)
class Layout:
    """The tiles of a blocking on an operator."""

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


class ImageTiles(ABC):
    """The loops over the tiles of all images, and the loads of their inputs.

    ``channels`` are those of the result, ``fill`` is what is loaded in place of padding.
    """

    def __init__(
        self,
        operator: DepthwiseConv2d | Pool2d,
        blocking: Blocking,
        channels: int,
        data: Any,
        fill: float = 0,
    ) -> None:
        self.blocking = blocking
        self.channels = channels
        self.data = data
        self.fill = fill
        self.images = operator.n
        self.layout = layout_of(operator, blocking)
        self.row_axis, self.column_axis = axes_of(operator)
        self.along_columns = operator.layout == "NCHW"
        self.padding = emit.constant(fill, operator.dtype, blocking.lanes)

    def emit(self, *, shared: bool = True) -> None:
        """Emit the loop over images, channels and bands of rows, ``shared`` among the cores."""
        lanes, bands = self.blocking.lanes, self.blocking.bands
        width = 1 if self.along_columns else lanes
        groups = emit.tile_count(self.channels, width)
        loop = emit.parallel if shared else emit.serial
        with loop(self.images * bands * groups, "task") as task:
            band = emit.bind("band", task // groups % bands) if bands > 1 else 0
            self.image = emit.bind("image", task // (groups * bands))
            # A known start, where channels are fewer than lanes: then vectors are masked.
            self.channel: Any = 0
            if groups > 1:
                start = emit.tile_start(task % groups, width, self.channels)
                self.channel = emit.bind("channel", start)
            self.begin()
            self._each_tile(band)

    def begin(self) -> None:  # noqa: B027 - most have nothing to do
        """Emit what comes before all tiles of some channels."""

    @abstractmethod
    def tile(self, y: Any, x: Any) -> None:
        """Emit the tile whose first output is in this row and column."""

    @property
    def source_channel(self) -> Any:
        """The channel of the data that ``channel`` is computed from."""
        return self.channel

    def _each_tile(self, band: Any) -> None:
        rows, columns, bands = self.layout.rows, self.layout.columns, self.blocking.bands

        def each_row(body: Callable[[Any], None]) -> None:
            for_each_of_band(rows, "y", band, bands, body)

        if self.blocking.columns_outside:
            for_each(columns, "x", lambda x: each_row(lambda y: self.tile(y, x)))
        else:
            each_row(lambda y: for_each(columns, "x", lambda x: self.tile(y, x)))

    def load(self, row: Any, x: Any, offset: int) -> Any | None:
        """The source vector of a row at an offset from column ``x`` of the outputs; None if it is
        known to be padding."""
        inside = self.inside(row, self.row_axis)
        if inside is False:
            return None
        condition = None if inside is True else inside
        axis = self.column_axis
        column = x * axis.stride + offset
        if self.along_columns:
            lanes, masked = self.blocking.lanes, self.blocking.masked
            place = Lanes(column, lanes, axis.size, masked, condition, self.fill)
            return place.load(self.data, [self.image, self.source_channel, row])
        there = self.inside(column, axis)
        if there is False:
            return None
        if there is not True:
            condition = there if condition is None else _both(condition, there)
        return self.lanes_of_channels(condition).load(self.data, [self.image, row, column])

    def inside(self, position: Any, axis: Axis) -> Any:
        """Whether a row or column is in the image: True, False, or an expression."""
        if isinstance(position, int):
            return 0 <= position < axis.size
        if not self.blocking.masked or not axis.padded:
            return True
        return _both(position >= 0, position < axis.size)

    def lanes_of_channels(self, condition: Any = None) -> Lanes:
        """The channels of a vector along them."""
        lanes, fill = self.blocking.lanes, self.fill
        return Lanes(self.channel, lanes, self.channels, condition=condition, fill=fill)

    def place(self, x: Any, y: Any, vector: int) -> tuple[Lanes, list[Any]]:
        """Where a vector of results goes: its lanes, and the index of its row."""
        column = x + self.layout.plan.offsets[vector]
        if self.along_columns:
            lanes = Lanes(column, self.blocking.lanes, self.column_axis.count)
            return lanes, [self.image, self.channel, y]
        return self.lanes_of_channels(), [self.image, y, column]


def _both(first: Any, second: Any) -> Any:
    from tvm import tirx

    return tirx.all(first, second)
