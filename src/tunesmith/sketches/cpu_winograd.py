"""Winograd's minimal filtering for 3x3 convolutions: fewer products, for some rounding error."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, cast

from tunesmith.operators import Conv2d, Operator
from tunesmith.sketches.machine import Machine
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.winograd.estimate import WinogradEstimate
from tunesmith.sketches.winograd.program import FUSED, SHARED, STAGES, winograd_program
from tunesmith.sketches.winograd.tiling import (
    DTYPE,
    Tiling,
    columns_of_tiles,
    rows_of_tiles,
    suits_winograd,
    vector_length,
)
from tunesmith.sketches.winograd.transforms import FILTER, MINIMAL
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

# Outputs of a tile along an axis.
TILES = tuple(MINIMAL)
# Sums that are added to in turn, so that none waits for its last addition.
MIN_REGISTER_TILE = 8
MAX_REGISTER_VECTORS = 4
# Multiply-adds in straight code: of many more LLVM orders the loads such that sums are spilled.
MAX_UNROLLED = 224
# Tiles of a block: with more, what a core works on does not stay near it.
MAX_BLOCK_TILES = 512
DEFAULT_BLOCK_TILES = 64
# Floats that a core may read again for each block: they stay in its L2.
MAX_WEIGHTS_OF_A_BLOCK = 2**18


class CpuWinograd(Sketch):
    """Convolutions of 3x3 taps by F(2x2, 3x3) or F(4x4, 3x3), in float32.

    A tile of 2x2 (4x4) outputs costs 16 (36) multiply-adds a pair of channels in place of 36 (144).
    Weights are transformed into panels of output channels, once where they are constant. Data are
    transformed in blocks of tiles; at each of the 16 (36) positions a register tile multiplies them
    with a panel; products are transformed to outputs together with what follows the sums. In how
    many parallel loops this happens is a choice, ``stages``: few blocks of many channels share the
    weights among the cores, many blocks of few channels the image.

    What it rounds away is measured in docs/sketches.md.
    """

    name: ClassVar[str] = "cpu_winograd"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and suits_winograd(operator)

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(cast(Conv2d, operator), *_vectors(target))

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(cast(Conv2d, operator), *_vectors(target), target.core_count)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        with instantiating(self.space(operator, target), config):
            lanes, _ = _vectors(target)
            return winograd_program(Tiling.of(cast(Conv2d, operator), lanes, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        machine = Machine.of(target)
        tiling = Tiling.of(cast(Conv2d, operator), machine.lanes(DTYPE), config)
        return WinogradEstimate(tiling, machine).seconds()


def _vectors(target: Target) -> tuple[int, int]:
    """How many floats a vector register holds, and how many there are."""
    machine = Machine.of(target)
    return machine.lanes(DTYPE), machine.vector_registers


# -- the space ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _space(operator: Conv2d, lanes: int, registers: int) -> Space:
    rows, rows_of_4 = (rows_of_tiles(operator, size) for size in TILES)
    columns, columns_of_4 = (columns_of_tiles(operator, size) for size in TILES)
    vectors = min(MAX_REGISTER_VECTORS, max(1, operator.co // lanes))
    tiles = min(registers - 2, rows * columns)
    least = _least_sums(operator)
    widest = vector_length(operator.ci, lanes)
    parameters: list[Parameter] = [
        Ordinal("tile_rows", TILES),
        Ordinal("tile_columns", TILES),
        Categorical("stages", STAGES),
        Ordinal("block_rows", _rows(rows, rows_of_4)),
        Ordinal("block_columns", _columns(columns, columns_of_4)),
        Ordinal("register_tiles", tuple(range(1, tiles + 1))),
        Ordinal("register_vectors", tuple(range(1, vectors + 1))),
        Ordinal("panels_at_once", tuple(_powers(max(1, operator.co // lanes)))),
        Ordinal("ci_lanes", tuple(_powers(widest))[-2:]),
        Ordinal("unroll", tuple(_powers(min(16, widest)))),
    ]
    sums = "register_tiles * register_vectors"
    return Space(
        parameters,
        [
            Constraint(f"tile_rows == 2 or block_rows <= {rows_of_4}"),
            Constraint(f"tile_columns == 2 or block_columns <= {columns_of_4}"),
            Constraint(f"block_rows * block_columns <= {max(MAX_BLOCK_TILES, columns)}"),
            Constraint("register_tiles <= block_rows * block_columns"),
            Constraint(f"{least} <= {sums} and {sums} + register_vectors < {registers}"),
            Constraint(f"unroll <= ci_lanes and {sums} * unroll <= {MAX_UNROLLED}"),
        ],
    )


def _least_sums(operator: Conv2d) -> int:
    """Sums that each register tile has: there is a block of so many tiles, whatever their size."""
    return min(MIN_REGISTER_TILE, rows_of_tiles(operator, 4) * columns_of_tiles(operator, 4))


def _powers(most: int) -> Iterator[int]:
    """Powers of two, up to a number."""
    power = 1
    while power <= most:
        yield power
        power *= 2


def _rows(*totals: int) -> tuple[int, ...]:
    """Rows of a block: all, and even parts of them."""
    parts = {-(-total // count) for total in totals for count in (*range(1, 17), *_powers(total))}
    return tuple(sorted(parts | {1}))


def _columns(*totals: int) -> tuple[int, ...]:
    """Columns of a block: all, or a half or a quarter of many."""
    parts = {-(-total // count) for total in totals for count in (2, 4)}
    return tuple(sorted({part for part in parts if part >= 8} | set(totals)))


# -- the default ----------------------------------------------------------------------------------


def _default(operator: Conv2d, lanes: int, registers: int, cores: int) -> Config:
    """Large tiles where there are enough of them; few weights read by each block, many shared."""
    high, wide = min(product(TILES, TILES), key=lambda tile: _work(operator, *tile))
    rows, columns = rows_of_tiles(operator, high), columns_of_tiles(operator, wide)
    weights = _positions(high, wide) * operator.ci * operator.co
    fused = weights <= MAX_WEIGHTS_OF_A_BLOCK and rows >= cores
    block_rows = _default_rows(operator, (rows, columns), cores if fused else 1)
    vectors = min(2, max(1, operator.co // lanes))
    tiles = _default_tiles(
        block_rows * columns,
        least=-(-_least_sums(operator) // vectors),
        most=(registers - 1 - vectors) // vectors,
    )
    ci_lanes = vector_length(operator.ci, lanes)
    return Config(
        {
            "tile_rows": high,
            "tile_columns": wide,
            "stages": FUSED if fused else SHARED,
            "block_rows": block_rows,
            "block_columns": columns,
            "register_tiles": tiles,
            "register_vectors": vectors,
            "panels_at_once": 1,
            "ci_lanes": ci_lanes,
            "unroll": min(4, ci_lanes),
        }
    )


def _positions(tile_rows: int, tile_columns: int) -> int:
    return (tile_rows + FILTER - 1) * (tile_columns + FILTER - 1)


def _work(operator: Conv2d, tile_rows: int, tile_columns: int) -> int:
    """Multiply-adds a pair of channels; a weight is not read for less than a register tile."""
    tiles = rows_of_tiles(operator, tile_rows) * columns_of_tiles(operator, tile_columns)
    return _positions(tile_rows, tile_columns) * max(tiles, MIN_REGISTER_TILE)


def _default_rows(operator: Conv2d, grid: tuple[int, int], shares: int) -> int:
    """Rows of a block that is not too large, so that blocks share out evenly; larger ones first."""
    rows, columns = grid
    least = -(-min(MIN_REGISTER_TILE, rows * columns) // columns)
    most = max(least, DEFAULT_BLOCK_TILES // columns)
    values = _rows(*(rows_of_tiles(operator, size) for size in TILES))
    fitting = [value for value in values if least <= value <= min(most, rows)] or [rows]
    return min(fitting, key=lambda value: (-(-rows // (value * shares)) * value, -value))


def _default_tiles(block_tiles: int, least: int, most: int) -> int:
    """Tiles in registers that cover a block with little overlap; larger ones first."""
    most = min(most, block_tiles)
    sizes = range(max(least, -(-most // 2)), most + 1)
    return min(sizes, key=lambda size: (-(-block_tiles // size) * size, -size))
