"""Winograd's minimal filtering for 3x3 convolutions on an NVIDIA GPU."""

# ruff: noqa: ARG002 - the same configs make sense on every GPU, whatever the target

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, cast

from tunesmith.operators import Conv2d, Operator
from tunesmith.sketches.cuda.estimates.gpu import estimated
from tunesmith.sketches.cuda.limits import LIMITS, WARP
from tunesmith.sketches.cuda.tiled.block_tiling import Parts
from tunesmith.sketches.cuda.winograd.estimate import winograd_seconds
from tunesmith.sketches.cuda.winograd.program import winograd_program
from tunesmith.sketches.cuda.winograd.sizes import Sizes
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.sketches.winograd.minimal import tile_sizes
from tunesmith.sketches.winograd.tiling import columns_of_tiles, rows_of_tiles, suits_winograd
from tunesmith.space import Categorical, Config, Constraint, Factorization, Ordinal, Space
from tunesmith.target import Target

_FILTER = 3
# Outputs of a tile along an axis.
TILES = tile_sizes(_FILTER, stride=1)
# Bytes of a sum.
_SUM = 4
# The most blocks that share a sum: each writes all its products.
_MOST_SPLITS = 16
# Threads of a transform's block.
_TRANSFORM_THREADS = (32, 64, 128, 256)

# The default's blocks (virtual threads, threads and elements of each, along output channels and
# along tiles): the first of these with enough of them for several on each multiprocessor. With the
# last one sums are split, as long as a part has the second number of input channels.
_BLOCK_SHAPES = (((2, 16, 4), (2, 16, 4)), ((1, 16, 4), (1, 16, 4)), ((1, 16, 4), (1, 8, 4)))
_BLOCKS, _SPLIT_CI = 512, 32
# The part of a sum in shared memory at a time, and the most elements there.
_STEP, _STAGED = 32, 4096
# Blocks of a transform.
_TRANSFORM_BLOCKS = 256
# With fewer tiles than that, reading the weights takes the time. Transforming them in each call is
# about as much work as this number of tiles more: they are written to memory and read again.
_FEW_TILES, _TILES_OF_TRANSFORM = 16, 40


class CudaWinograd(Sketch):
    """Convolutions of 3x3 taps in NCHW by F(2x2, 3x3) or F(4x4, 3x3), in several kernels.

    Weights are transformed once where they are constant. Data are transformed with a thread a tile
    and channel; at each of the 16 (36) positions a product of matrices sums over input channels,
    blocks staging both in shared memory; products are transformed to outputs together with what
    follows the sums. Images at the end of a network have few tiles: the products of all positions
    are one grid, and several blocks may share a sum, which the last transform adds up.

    What it rounds away is measured in docs/sketches.md.
    """

    name: ClassVar[str] = "cuda_winograd"
    version: ClassVar[int] = 2

    def supports(self, operator: Operator, target: Target) -> bool:
        return (
            target.kind == "cuda"
            and suits_winograd(operator)
            and cast(Conv2d, operator).layout == "NCHW"
            and cast(Conv2d, operator).kernel == (_FILTER, _FILTER)
            and cast(Conv2d, operator).stride == (1, 1)
            and cast(Conv2d, operator).dilation == (1, 1)
        )

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(cast(Conv2d, operator))

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(cast(Conv2d, operator))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return estimated(target, lambda gpu: winograd_seconds(_checked(operator, config), gpu))

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        with instantiating(self.space(operator, target), config):
            return winograd_program(_checked(operator, config))


def _checked(operator: Operator, config: Config) -> Sizes:
    """What a config says. Raises ``InstantiationError`` where it exceeds the limits."""
    sizes = Sizes.of(cast(Conv2d, operator), config)
    LIMITS.check(sizes.tiling.use(operator, sizes.nest))
    return sizes


# -- the space ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _space(operator: Conv2d) -> Space:
    most_co = _covering(operator.co)
    most_tiles = _covering(max(_tile_count(operator, *tile) for tile in product(TILES, TILES)))
    # A warp, where there is enough work: with fewer threads, parts of the hardware are idle.
    least_threads = min(WARP, min(16, most_co) * min(8, most_tiles))
    threads, vthreads = "co_threads * tiles_threads", "co_vthreads * tiles_vthreads"
    return Space(
        [
            Ordinal("tile_rows", TILES),
            Ordinal("tile_columns", TILES),
            Ordinal("co_vthreads", emit.powers_up_to(min(8, most_co))),
            Ordinal("co_threads", emit.powers_up_to(min(256, most_co))),
            Ordinal("co_inner", emit.powers_up_to(min(8, most_co))),
            Ordinal("tiles_vthreads", emit.powers_up_to(min(8, most_tiles))),
            Ordinal("tiles_threads", emit.powers_up_to(min(256, most_tiles))),
            Ordinal("tiles_inner", tuple(range(1, min(8, most_tiles) + 1))),
            Factorization("tile_ci", operator.ci, 3),
            Ordinal("vector", (1, 2, 4)),
            Ordinal("auto_unroll_max_step", (0, 64, 512, 1500)),
            Categorical("unroll_explicit", (0, 1)),
            Ordinal("weight_threads", _TRANSFORM_THREADS),
            Ordinal("data_threads", _TRANSFORM_THREADS),
            Ordinal("output_threads", _TRANSFORM_THREADS),
        ],
        [
            Constraint(f"co_vthreads * co_threads * co_inner <= {most_co}"),
            Constraint(f"tiles_vthreads * tiles_threads * tiles_inner <= {most_tiles}"),
            Constraint(f"{least_threads} <= {threads} and {threads} <= {LIMITS.threads}"),
            Constraint(f"{vthreads} <= {LIMITS.vthreads}"),
            Constraint(f"{vthreads} * co_inner * tiles_inner <= {LIMITS.register_bytes // _SUM}"),
            Constraint(f"tile_ci[0] <= {_MOST_SPLITS}"),
        ],
    )


def _covering(extent: int) -> int:
    """The least power of two that is not below an extent."""
    return 1 << (extent - 1).bit_length()


def _tile_count(operator: Conv2d, tile_rows: int, tile_columns: int) -> int:
    return rows_of_tiles(operator, tile_rows) * columns_of_tiles(operator, tile_columns)


# -- the default ----------------------------------------------------------------------------------


def _default(operator: Conv2d) -> Config:
    """Large tiles where there are enough of them, and blocks for all multiprocessors."""
    rows, columns = min(product(TILES, TILES), key=lambda tile: _work(operator, *tile))
    tiles = _tile_count(operator, rows, columns)
    of_co, of_tiles, blocks = _default_blocks(operator.co, tiles, _positions(rows, columns))
    splits = _default_splits(operator.ci, blocks)
    most = min(_STEP, _STAGED // (math.prod(of_co) + math.prod(of_tiles)))
    step = emit.largest_divisor(operator.ci // splits, most)
    parts = ("vthreads", "threads", "inner")
    return Config(
        {
            "tile_rows": rows,
            "tile_columns": columns,
            **{f"co_{part}": count for part, count in zip(parts, of_co, strict=True)},
            **{f"tiles_{part}": count for part, count in zip(parts, of_tiles, strict=True)},
            "tile_ci": (splits, operator.ci // splits // step, step),
            "vector": 4,
            "auto_unroll_max_step": 1500,
            "unroll_explicit": 0,
            "weight_threads": _transform_threads(operator.co * operator.ci),
            "data_threads": _transform_threads(operator.ci * tiles),
            "output_threads": _transform_threads(operator.co * tiles),
        }
    )


def _default_blocks(co: int, tiles: int, positions: int) -> tuple[Parts, Parts, int]:
    """The parts of a block along output channels and tiles, and how many blocks there are."""
    for shape in _BLOCK_SHAPES:
        of_co, of_tiles = _fitting(shape[0], co), _fitting(shape[1], tiles)
        blocks = positions * math.prod(
            emit.tile_count(extent, math.prod(parts))
            for extent, parts in ((co, of_co), (tiles, of_tiles))
        )
        if blocks >= _BLOCKS and (of_co, of_tiles) == shape:
            break
    return of_co, of_tiles, blocks


def _fitting(parts: Parts, extent: int) -> Parts:
    """As many threads as an extent has work for, with fewer elements each where it is small."""
    vthreads, threads, inner = parts
    most = _covering(extent)
    threads = min(threads, most)
    inner = min(inner, most // threads)
    return min(vthreads, most // (threads * inner)), threads, inner


def _transform_threads(steps: int) -> int:
    """The largest blocks of which there are enough."""
    enough = [size for size in _TRANSFORM_THREADS if steps >= size * _TRANSFORM_BLOCKS]
    return enough[-1] if enough else _TRANSFORM_THREADS[0]


def _positions(tile_rows: int, tile_columns: int) -> int:
    return (tile_rows + _FILTER - 1) * (tile_columns + _FILTER - 1)


def _work(operator: Conv2d, tile_rows: int, tile_columns: int) -> int:
    """Multiply-adds a pair of channels, or what takes as long as they."""
    tiles = max(_FEW_TILES, _tile_count(operator, tile_rows, tile_columns))
    further = 0 if operator.constant_weights else _TILES_OF_TRANSFORM
    return _positions(tile_rows, tile_columns) * (tiles + further)


def _default_splits(ci: int, blocks: int) -> int:
    """The fewest parts of a sum that make enough blocks, or the most that are long enough."""
    possible = [
        splits
        for splits in range(1, _MOST_SPLITS + 1)
        if ci % splits == 0 and (splits == 1 or ci // splits >= _SPLIT_CI)
    ]
    enough = [splits for splits in possible if splits * blocks >= _BLOCKS]
    return enough[0] if enough else possible[-1]
