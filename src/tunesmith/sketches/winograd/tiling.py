"""Sizes of a convolution by Winograd's algorithm: of its tiles, its blocks and its buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tunesmith.operators import Argument, Conv2d, Conv2dTranspose, Operator
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.multiply_add import is_register, moves_sums
from tunesmith.sketches.winograd.axes import AnyAxis, axes_of
from tunesmith.sketches.winograd.minimal import Minimal
from tunesmith.target import Target

DTYPE = "float32"
"""The type of all numbers: others would lose too much in the transforms, or gain nothing."""

Filtered = Conv2d | Conv2dTranspose
"""Operators whose windows are filtered."""


def vector_length(extent: int, lanes: int) -> int:
    """The longest vector, a power of two of at most ``lanes``, that fits an extent."""
    return emit.power_of_two(min(extent, lanes))


MOST_TAPS, MOST_STRIDE = 7, 2
"""Of the windows along an axis that are filtered in fewer products: longer ones, and larger
strides, would save little."""


def suits_winograd(operator: Operator) -> bool:
    """Whether an operator is a convolution that minimal filtering computes in fewer products."""
    return isinstance(operator, Conv2d) and operator.groups == 1 and _saves_products(operator)


def suits_transposed(operator: Operator) -> bool:
    """Whether an operator is a transposed convolution that minimal filtering computes in fewer
    products: one whose outputs have several taps along an axis."""
    return isinstance(operator, Conv2dTranspose) and _saves_products(operator)


def _saves_products(operator: Filtered) -> bool:
    return (
        operator.dtype == DTYPE
        and operator.kernel != (1, 1)
        and max(operator.kernel) <= MOST_TAPS
        and max(operator.stride) <= MOST_STRIDE
        and all(axis.sizes for axis in axes_of(operator))
    )


def rows_of_tiles(operator: Filtered, tile_rows: int) -> int:
    """Rows of tiles, of all images together."""
    return operator.n * axes_of(operator)[0].tiles(tile_rows)


def columns_of_tiles(operator: Filtered, tile_columns: int) -> int:
    """Tiles of a row."""
    return axes_of(operator)[1].tiles(tile_columns)


class Tiles:
    """The sizes of an operator's tiles of ``tile_rows`` x ``tile_columns`` outputs."""

    operator: Filtered
    tile_rows: int
    tile_columns: int

    @cached_property
    def axes(self) -> tuple[AnyAxis, AnyAxis]:
        """The rows and the columns of the image."""
        return axes_of(self.operator)

    @cached_property
    def minimal(self) -> tuple[Minimal, Minimal]:
        """The transforms along the rows of a tile and along its columns."""
        rows, columns = self.axes
        return rows.minimal(self.tile_rows), columns.minimal(self.tile_columns)

    @property
    def input_tile(self) -> tuple[int, int]:
        """Rows and columns of the inputs of a tile, without those between dilated ones."""
        rows, columns = self.minimal
        return rows.inputs, columns.inputs

    @property
    def products_tile(self) -> tuple[int, int]:
        """Rows and columns of a transformed tile."""
        rows, columns = self.minimal
        return rows.products, columns.products

    @property
    def positions(self) -> int:
        """Elements of a transformed tile, each of which has a matrix product of its own."""
        return self.products_tile[0] * self.products_tile[1]

    @property
    def data_tile(self) -> tuple[int, int]:
        """Rows and columns of a tile's transformed data, which several products may share."""
        rows, columns = self.minimal
        return len(rows.data), len(columns.data)

    def data_position(self, position: Any) -> Any:
        """The element of a tile's transformed data that is multiplied at a position."""
        (high, wide), (rows, columns) = self.data_tile, self.products_tile
        if (high, wide) == (rows, columns):
            return position
        return position // columns % high * wide + position % columns % wide


@dataclass(frozen=True)
class Tiling(Tiles):
    """The sizes of an operator, the target's vectors (``lanes`` floats) and a config.

    The tiles of all images are rows of tiles, one after the other. A block is ``block_rows`` of
    them, and of each ``block_columns`` neighbouring tiles. Channels are read in groups of
    ``ci_lanes`` and written in panels of ``panel`` channels. Blocks, groups and panels that do not
    divide their axis overlap.
    """

    operator: Filtered
    lanes: int
    tile_rows: int
    tile_columns: int
    stages: str
    block_rows: int
    block_columns: int
    register_tiles: int
    register_vectors: int
    panels_at_once: int
    ci_lanes: int
    unroll: int
    prefetch: int
    moves_sums: bool

    @classmethod
    def of(cls, operator: Filtered, target: Target, config: Mapping[str, Any]) -> Tiling:
        """The sizes for a config of the sketch."""
        return cls(operator, target.lanes(DTYPE), **config, moves_sums=moves_sums(target))

    # -- tiles -----------------------------------------------------------------------------------

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Rows of tiles, of all images together, and tiles of a row."""
        rows = rows_of_tiles(self.operator, self.tile_rows)
        return rows, columns_of_tiles(self.operator, self.tile_columns)

    @cached_property
    def blocks(self) -> tuple[int, int]:
        """Blocks down and across."""
        rows, columns = self.grid
        return (
            emit.tile_count(rows, self.block_rows),
            emit.tile_count(columns, self.block_columns),
        )

    @property
    def block_count(self) -> int:
        """Blocks in all."""
        return self.blocks[0] * self.blocks[1]

    @property
    def block_tiles(self) -> int:
        """Tiles of a block."""
        return self.block_rows * self.block_columns

    @cached_property
    def written_rows(self) -> int:
        """Rows of a tile that the output has: all, unless the whole image has fewer."""
        return min(self.tile_rows, self.axes[0].extent(self.tile_rows))

    @cached_property
    def block_pixels(self) -> int:
        """Output columns that each block has at least: the last one may have less than others."""
        wide, tiles = self.operator.output_image[1], self.grid[1]
        if self.blocks[1] == 1:
            return wide
        return max(1, self.block_columns * self.tile_columns - (tiles * self.tile_columns - wide))

    def first_row(self, row_of_tiles: Any) -> tuple[Any, Any]:
        """The image that a row of tiles is in, and the first row of its outputs."""
        high = self.grid[0] // self.operator.n
        image = emit.bind("image", row_of_tiles // high)
        return image, emit.bind("top", self.axes[0].first(row_of_tiles % high, self.tile_rows))

    def first_column(self, tile: Any) -> Any:
        """The first column of a tile's outputs, from its place in a row of tiles."""
        return self.axes[1].first(tile, self.tile_columns)

    def first_column_of_block(self, tile: Any) -> Any:
        """The first column of a block's outputs, from its first tile's place in a row of tiles."""
        return 0 if self.blocks[1] == 1 else self.first_column(tile)

    @cached_property
    def zeros_before(self) -> tuple[int, int]:
        """Rows and columns of zeros before the inputs."""
        rows, columns = self.axes
        return rows.before(self.tile_rows), columns.before(self.tile_columns)

    @cached_property
    def cut(self) -> tuple[int, int]:
        """Rows and columns of outputs before the image's."""
        rows, columns = self.axes
        return rows.cut(self.tile_rows), columns.cut(self.tile_columns)

    @property
    def whole_rows(self) -> bool:
        """Whether the written rows of all tiles are the image's."""
        outputs = self.operator.output_image[0]
        return self.axes[0].extent(self.tile_rows) == outputs

    @property
    def channels_last(self) -> bool:
        """Whether the channels of a pixel are neighbours."""
        return isinstance(self.operator, Conv2d) and self.operator.layout == "NHWC"

    # -- bands: rows of pixels, group by group of channels ---------------------------------------

    @cached_property
    def input_columns(self) -> int:
        """Columns of an input with its padding, or those that a tile needs where it has fewer."""
        return self.axes[1].padded(self.tile_columns)

    @cached_property
    def block_input_columns(self) -> int:
        """Columns of the input under a block that is a part of the columns."""
        return self.axes[1].reach(self.tile_columns, self.block_columns)

    @cached_property
    def output_columns(self) -> int:
        """Columns of all tiles, or those of a tile where it has more."""
        return max(self.axes[1].extent(self.tile_columns), self.tile_columns)

    @cached_property
    def read_columns(self) -> int:
        """Columns of the data that are read at once."""
        return vector_length(self.operator.w, self.lanes)

    @cached_property
    def written_columns(self) -> int:
        """Columns of the output that are written at once."""
        return vector_length(self.block_pixels, self.lanes)

    # -- channels --------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> int:
        """Groups of input channels."""
        return emit.tile_count(self.operator.ci, self.ci_lanes)

    @property
    def repeated_channels(self) -> int:
        """Channels at the beginning of the last group that the one before it has, too."""
        return self.groups * self.ci_lanes - self.operator.ci

    @property
    def co_lanes(self) -> int:
        """Output channels of a vector."""
        return vector_length(self.operator.co, self.lanes)

    @property
    def needs_multiply_add(self) -> bool:
        """Whether LLVM would move sums from register to register (see ``multiply_add``)."""
        whole = is_register(DTYPE, self.co_lanes)
        return self.moves_sums and self.register_vectors == 1 and whole

    @property
    def panel(self) -> int:
        """Output channels of a register tile."""
        return self.register_vectors * self.co_lanes

    @cached_property
    def panels(self) -> int:
        """Panels of output channels."""
        return emit.tile_count(self.operator.co, self.panel)

    @cached_property
    def chunk_panels(self) -> int:
        """Panels of a chunk, which are computed before any of them is written."""
        return min(self.panels_at_once, self.panels)

    @cached_property
    def chunks(self) -> int:
        """Chunks of panels."""
        return emit.tile_count(self.panels, self.chunk_panels)

    # -- buffers ---------------------------------------------------------------------------------

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """Transformed weights: position, panel, input channel, channel of the panel."""
        return (self.positions, self.panels, self.groups * self.ci_lanes, self.panel)

    @property
    def prepared_weights(self) -> Argument:
        """Constant weights, transformed."""
        return Argument("transformed", self.weights_shape, DTYPE)

    @property
    def data_positions(self) -> int:
        """Elements of a tile's transformed data."""
        return self.data_tile[0] * self.data_tile[1]

    @property
    def data_plane(self) -> int:
        """Floats of one position of a block's transformed data: group, tile, lane; and a vector of
        padding, so that positions are not all in the same sets of a cache."""
        return (self.groups * self.block_tiles + 1) * self.ci_lanes

    def products_plane(self, panels: int) -> int:
        """Floats of one position of a block's products: panel, tile, channel of the panel."""
        return (panels * self.block_tiles * self.register_vectors + 1) * self.co_lanes
