"""Sizes of a convolution by Winograd's algorithm on a GPU: of its tiles, products and buffers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tunesmith.operators import Conv2d
from tunesmith.sketches.cuda.tiled.block_tiling import Parts, Tiling
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.loop_nest import Access, Axis, LoopNest
from tunesmith.sketches.winograd.tiling import Tiles, columns_of_tiles, rows_of_tiles

WEIGHTS, DATA, PRODUCTS = "transformed_weights", "transformed_data", "products"
"""The buffers between the kernels, and the stage of the products."""


@dataclass(frozen=True)
class Sizes(Tiles):
    """What follows from an operator and a config.

    ``co`` and ``tiles`` are the parts of a block along output channels and tiles: virtual threads,
    threads, and elements of a thread. ``tile_ci`` are those of the sum: how many blocks share it,
    their steps, and what is in shared memory at a time.

    At each position of the transformed tiles there is a product of matrices, of output channels by
    input channels and of input channels by tiles. ``splits`` blocks share the sum over input
    channels; the transform to outputs adds up their sums. A block has ``block_co`` output channels
    and ``block_tiles`` tiles; where these do not divide, the last block computes some that are not
    read.
    """

    operator: Conv2d
    tile_rows: int
    tile_columns: int
    co: Parts
    tiles: Parts
    tile_ci: Parts
    vector: int
    auto_unroll_max_step: int
    unroll_explicit: bool
    weight_threads: int
    data_threads: int
    output_threads: int

    @classmethod
    def of(cls, operator: Conv2d, config: Mapping[str, Any]) -> Sizes:
        """The sizes for a config of the sketch."""
        return cls(
            operator=operator,
            co=_parts(config, "co"),
            tiles=_parts(config, "tiles"),
            unroll_explicit=bool(config["unroll_explicit"]),
            **{name: config[name] for name in _TAKEN},
        )

    # -- tiles -----------------------------------------------------------------------------------

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Rows of tiles of an image, and tiles of a row."""
        rows = rows_of_tiles(self.operator, self.tile_rows) // self.operator.n
        return rows, columns_of_tiles(self.operator, self.tile_columns)

    @cached_property
    def tile_count(self) -> int:
        """Tiles of all images."""
        return self.operator.n * self.grid[0] * self.grid[1]

    # -- products --------------------------------------------------------------------------------

    @property
    def splits(self) -> int:
        """How many blocks share a sum."""
        return self.tile_ci[0]

    @cached_property
    def split_ci(self) -> int:
        """Input channels of each of them."""
        return self.operator.ci // self.splits

    @cached_property
    def block_co(self) -> int:
        """Output channels of a block."""
        return math.prod(self.co)

    @cached_property
    def block_tiles(self) -> int:
        """Tiles of a block."""
        return math.prod(self.tiles)

    @cached_property
    def padded_co(self) -> int:
        """Output channels of all blocks."""
        return emit.tile_count(self.operator.co, self.block_co) * self.block_co

    @cached_property
    def padded_tiles(self) -> int:
        """Tiles of all blocks."""
        return emit.tile_count(self.tile_count, self.block_tiles) * self.block_tiles

    @property
    def batch(self) -> int:
        """Products of matrices: each position, and each split of the sum there."""
        return self.positions * self.splits

    @property
    def weights_shape(self) -> tuple[int, int, int]:
        """Transformed weights: position and split, input channel of it, output channel."""
        return self.batch, self.split_ci, self.padded_co

    @property
    def data_shape(self) -> tuple[int, int, int]:
        """Transformed data: position and split, input channel of it, tile."""
        return self.batch, self.split_ci, self.padded_tiles

    @property
    def products_shape(self) -> tuple[int, int, int]:
        """Products: position and split, output channel, tile."""
        return self.batch, self.padded_co, self.padded_tiles

    @property
    def nest(self) -> LoopNest:
        """The loops of the products."""
        extents = dict(zip("bij", self.products_shape, strict=True))
        return LoopNest(
            block=PRODUCTS,
            spatial=tuple(Axis(name, extent) for name, extent in extents.items()),
            reduction=(Axis("k", self.split_ci),),
            inputs=(
                _matrices(WEIGHTS, self.weights_shape, "bki"),
                _matrices(DATA, self.data_shape, "bkj"),
            ),
            producers=(),
            consumers=(),
        )

    @property
    def tiling(self) -> Tiling:
        """How blocks and threads share them."""
        blocks_co = self.padded_co // self.block_co
        blocks_tiles = self.padded_tiles // self.block_tiles
        return Tiling(
            spatial={
                "b": (self.batch, 1, 1, 1),
                "i": (blocks_co, *self.co),
                "j": (blocks_tiles, *self.tiles),
            },
            reduction={"k": self.tile_ci[1:]},
            places={"b": "z", "i": "y", "j": "x"},
            staged=frozenset({WEIGHTS, DATA}),
            vector=self.vector,
            write_vector=self.vector,
            auto_unroll_max_step=self.auto_unroll_max_step,
            unroll_explicit=self.unroll_explicit,
        )


# Parameters that are taken as they are.
_TAKEN = (
    "tile_rows",
    "tile_columns",
    "tile_ci",
    "vector",
    "auto_unroll_max_step",
    "weight_threads",
    "data_threads",
    "output_threads",
)


def _parts(config: Mapping[str, Any], axis: str) -> Parts:
    return tuple(config[f"{axis}_{part}"] for part in ("vthreads", "threads", "inner"))


def _matrices(name: str, shape: tuple[int, ...], axes: str) -> Access:
    """A buffer that is read at an index of one axis in each dimension."""
    return Access(
        buffer=name,
        shape=shape,
        indices=tuple(frozenset(axis) for axis in axes),
        axes=tuple(axes),
        produced=True,
        steps=tuple(((axis, 1),) for axis in axes),
        groups=((),) * len(axes),
    )
