"""A config of direct convolution on an operator, in numbers: extents, tiles, layouts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tunesmith.operators import Conv2d
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.multiply_add import is_register, moves_sums
from tunesmith.space import Config
from tunesmith.target import Target


@dataclass(frozen=True)
class Tile:
    """A register tile: rows of output pixels, units along columns and along channels.

    A unit is a vector along the axis that is vectorised, an element along the other one.
    """

    rows: int
    columns: int
    channels: int


@dataclass(frozen=True)
class Plan:
    """What is computed how. Extents are in elements, of one group of channels.

    ``lanes`` is how many elements of the accumulator's type a register holds, and ``moves_sums``
    whether LLVM moves sums from register to register (see ``multiply_add``).
    """

    operator: Conv2d
    lanes: int
    vectorize: str
    tile_rows: int
    tile_columns: int
    tile_channels: int
    block: int
    steps: int
    prefetch: int
    tails: str
    order: str
    split_channels: int
    split_pixels: int
    copy: str
    data: str
    moves_sums: bool

    @classmethod
    def of(cls, operator: Conv2d, target: Target, config: Config) -> Plan:
        lanes, moves = target.lanes(operator.accumulate_dtype), moves_sums(target)
        return cls(operator=operator, lanes=lanes, moves_sums=moves, **config)  # type: ignore[arg-type]

    # -- the operator, seen by the kernel

    @property
    def channels_in(self) -> int:
        return self.operator.ci // self.operator.groups

    @property
    def channels_out(self) -> int:
        return self.operator.co // self.operator.groups

    @property
    def images(self) -> int:
        """Groups of channels of images, which are convolved separately."""
        return self.operator.n * self.operator.groups

    def number_and_group(self, image: Any) -> tuple[Any, Any]:
        """Which of the operator's images it is, and which of its groups of channels."""
        groups = self.operator.groups
        return (image, 0) if groups == 1 else (image // groups, image % groups)

    @property
    def pointwise(self) -> bool:
        return self.operator.kernel == (1, 1)

    @property
    def contiguous(self) -> bool:
        """Whether the data of all pixels are one axis: rows without a gap between them, and windows
        of one pixel."""
        plain = self.operator.stride == (1, 1) and self.operator.padding == (0, 0)
        return self.pointwise and (self.copy != "none" or plain)

    @property
    def flat(self) -> bool:
        """Whether tiles take pixels as one axis, across the ends of rows."""
        return self.contiguous or self.tails == "wrap"

    @cached_property
    def rows(self) -> int:
        return 1 if self.flat else self.operator.output_image[0]

    @cached_property
    def columns(self) -> int:
        high, wide = self.operator.output_image
        return high * wide if self.flat else wide

    # -- the register tile

    @cached_property
    def lanes_channels(self) -> int:
        """Output channels of a unit."""
        return self._unit("channels", self.channels_out)

    @cached_property
    def lanes_columns(self) -> int:
        """Output columns of a unit."""
        return self._unit("columns", self.columns)

    def _unit(self, axis: str, extent: int) -> int:
        return emit.power_of_two(min(self.lanes, extent)) if self.vectorize == axis else 1

    @property
    def unit(self) -> int:
        """The length of the vectors."""
        return max(self.lanes_channels, self.lanes_columns)

    @cached_property
    def tile(self) -> Tile:
        rows, columns = min(self.tile_rows, self.rows), self.tile_columns
        if self.flat:
            columns *= self.tile_rows
        return Tile(
            rows,
            min(columns, self.columns // self.lanes_columns),
            min(self.tile_channels, self.channels_out // self.lanes_channels),
        )

    @property
    def holds_vectors(self) -> bool:
        """Whether a step holds its vectors in registers and uses each broadcast as it is loaded, or
        the other way round."""
        return True

    @property
    def needs_multiply_add(self) -> bool:
        """Whether LLVM would move sums where a broadcast has one use, which is where vectors are
        held."""
        whole = is_register(self.operator.accumulate_dtype, self.unit)
        return self.moves_sums and self.holds_vectors and whole

    @property
    def channel_tile(self) -> int:
        """Output channels of a tile."""
        return self.tile.channels * self.lanes_channels

    @property
    def column_tile(self) -> int:
        """Output columns of a tile."""
        return self.tile.columns * self.lanes_columns

    @cached_property
    def channel_tiles(self) -> int:
        return emit.tile_count(self.channels_out, self.channel_tile)

    @cached_property
    def row_tiles(self) -> int:
        return emit.tile_count(self.rows, self.tile.rows)

    @cached_property
    def column_tiles(self) -> int:
        return emit.tile_count(self.columns, self.column_tile)

    @property
    def pixel_tiles(self) -> int:
        return self.row_tiles * self.column_tiles

    @property
    def tail_rows(self) -> int:
        """Rows of the last tile where it is smaller than the others; else 0."""
        return self.rows % self.tile.rows if self.tails == "peel" else 0

    @property
    def tail_columns(self) -> int:
        """Units along columns of the last tile where it is smaller than the others; else 0.

        Its vectors may overlap those of its neighbour.
        """
        rest = -(-(self.columns % self.column_tile) // self.lanes_columns)
        return rest if self.tails == "peel" and rest < self.tile.columns else 0

    # -- tasks

    @property
    def channel_tasks(self) -> int:
        return min(self.split_channels, self.channel_tiles)

    @property
    def pixel_tasks(self) -> int:
        return min(self.split_pixels, self.pixel_tiles)

    @property
    def tasks(self) -> int:
        return self.images * self.channel_tasks * self.pixel_tasks

    # -- data, as the kernel reads them

    @property
    def row_step(self) -> int:
        """Rows of the padded input from one row of the data to the next."""
        return self.operator.stride[0] if self._compact(0) else 1

    @property
    def phases(self) -> int:
        """Into how many sets a row's columns are split, so that the columns that a vector reads,
        which are a stride apart, are contiguous."""
        strided = self.vectorize == "columns" and self.copy != "none" and not self._compact(1)
        return self.operator.stride[1] if strided else 1

    @property
    def column_step(self) -> int:
        """Columns of the padded input from one column of the data to the next."""
        return self.operator.stride[1] if self._compact(1) or self.phases > 1 else 1

    def _compact(self, axis: int) -> bool:
        """Whether the copy leaves out what no window reads."""
        return self.copy != "none" and self.operator.kernel[axis] == 1

    @property
    def stored_rows(self) -> int:
        """Rows of the copied image."""
        return self.rows_for(self.operator.output_image[0])

    def rows_for(self, output_rows: int) -> int:
        """How many rows of data ``output_rows`` rows of output read."""
        return int(self.first_row(output_rows - 1) + self.reach)

    def first_row(self, output_row: int) -> int:
        """The first row of data that an output row reads."""
        return output_row if self._compact(0) else output_row * self.operator.stride[0]

    @property
    def reach(self) -> int:
        """Rows of data that one row of output reads, and those in between."""
        return self.operator.dilation[0] * (self.operator.kernel[0] - 1) + 1

    @property
    def stored_columns(self) -> int:
        """Columns of a phase of the copied image."""
        op = self.operator
        span = (op.output_image[1] - 1) * op.stride[1] + op.dilation[1] * (op.kernel[1] - 1) + 1
        return -(-span // self.column_step)

    @property
    def stored_block(self) -> int:
        """How many channels are contiguous in the copied data."""
        if self.vectorize == "columns":
            return 1
        if self.data == "blocked":
            return self.block
        return 1 if self.operator.layout == "NCHW" else self.channels_in

    @property
    def pitch(self) -> int:
        """Pixels from one row of the copied image to the next."""
        return self.phases * self.stored_columns

    @property
    def rows_per_task(self) -> int:
        """The most rows of output that the pixels of a task lie in."""
        high, wide = self.operator.output_image
        tiles = emit.tile_count(self.pixel_tiles, self.pixel_tasks)
        if self.flat:
            return min(high, (tiles * self.column_tile - 2) // wide + 2)
        row_tiles = min(self.row_tiles, (tiles - 2) // self.column_tiles + 2)
        return min(high, row_tiles * self.tile.rows)
