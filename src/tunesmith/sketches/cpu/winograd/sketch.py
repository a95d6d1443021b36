"""Winograd's minimal filtering for convolutions: fewer products, for some rounding error."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, cast

from tunesmith.operators import Operator
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.winograd.estimate import WinogradEstimate
from tunesmith.sketches.cpu.winograd.program import FUSED, SHARED, STAGES, winograd_program
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.sketches.winograd.axes import axes_of
from tunesmith.sketches.winograd.tiling import (
    DTYPE,
    Filtered,
    Tiling,
    columns_of_tiles,
    rows_of_tiles,
    suits_transposed,
    suits_winograd,
    vector_length,
)
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

# Sums of a register tile: enough to hide the latency of additions.
MIN_REGISTER_TILE = 8
MAX_REGISTER_VECTORS = 4
# Multiply-adds in straight code: with many more, LLVM orders the loads such that sums are spilled.
MAX_UNROLLED = 224
# How many channels ahead weights are prefetched.
_PREFETCH = (0, 8, 32)
# Tiles of a block: with more, the data of a core do not stay in its caches.
MAX_BLOCK_TILES = 512
DEFAULT_BLOCK_TILES = 64
# Floats that a core may read again for each block: they stay in its L2.
MAX_WEIGHTS_OF_A_BLOCK = 2**18
# Products of a tile: of larger ones the rounding errors were not measured.
MAX_POSITIONS = 128


class CpuWinograd(Sketch):
    """Convolutions of up to 7x7 taps by tiles of outputs that share products, in float32.

    A tile of 4x4 outputs of 3x3 taps costs 36 multiply-adds a pair of channels in place of 144, and
    81 with stride 2 (``sketches/winograd/minimal.py``); dilated windows are as cheap as others.
    Transposed convolutions are filtered likewise: 8x8 outputs of 4x4 taps, stride 2, cost 100 in
    place of 256. Weights are transformed into panels of output channels, once where they are
    constant. Data are transformed in blocks of tiles; at each of the 36 positions a register tile
    multiplies them with a panel; products are transformed to outputs together with what follows the
    sums. In how many parallel loops this happens is a choice, ``stages``: few blocks of many
    channels share the weights among the cores, many blocks of few channels the image.

    What it rounds away is measured in docs/sketches.md.
    """

    name: ClassVar[str] = "cpu_winograd"
    version: ClassVar[int] = 3

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and (suits_winograd(operator) or suits_transposed(operator))

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(cast(Filtered, operator), *_vectors(target))

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(cast(Filtered, operator), *_vectors(target), target.core_count)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        with instantiating(self.space(operator, target), config):
            return winograd_program(Tiling.of(cast(Filtered, operator), target, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        machine = Machine.of(target)
        tiling = Tiling.of(cast(Filtered, operator), target, config)
        return WinogradEstimate(tiling, machine).seconds()

    def weight_bytes(self, operator: Operator, target: Target, config: Config) -> int | None:
        return Tiling.of(cast(Filtered, operator), target, config).prepared_weights.bytes


def _vectors(target: Target) -> tuple[int, int]:
    """How many floats a vector register holds, and how many there are."""
    machine = Machine.of(target)
    return machine.lanes(DTYPE), machine.vector_registers


# -- the space ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _space(operator: Filtered, lanes: int, registers: int) -> Space:
    rows, columns = _row_counts(operator), _column_counts(operator)
    most_rows, most_columns = max(rows.values()), max(columns.values())
    vectors = min(MAX_REGISTER_VECTORS, max(1, operator.co // lanes))
    tiles = min(registers - 2, most_rows * most_columns)
    least = _least_sums(operator)
    widest = vector_length(operator.ci, lanes)
    parameters: list[Parameter] = [
        Ordinal("tile_rows", tuple(rows)),
        Ordinal("tile_columns", tuple(columns)),
        Categorical("stages", STAGES),
        Ordinal("block_rows", _rows(*rows.values())),
        Ordinal("block_columns", _columns(operator, *columns.values())),
        Ordinal("register_tiles", tuple(range(1, tiles + 1))),
        Ordinal("register_vectors", tuple(range(1, vectors + 1))),
        Ordinal("panels_at_once", emit.powers_up_to(max(1, operator.co // lanes))),
        Ordinal("ci_lanes", emit.powers_up_to(widest)[-2:]),
        Ordinal("unroll", emit.powers_up_to(min(16, widest))),
        Ordinal("prefetch", _PREFETCH),
    ]
    sums = "register_tiles * register_vectors"
    # A block of dilated windows has all columns: neighbours are in tiles of their own.
    dilated = axes_of(operator)[1].dilation > 1
    conditions = [
        *(f"tile_rows != {size} or block_rows <= {count}" for size, count in rows.items()),
        *(
            f"tile_columns != {size} or block_columns {'==' if dilated else '<='} {count}"
            for size, count in columns.items()
        ),
        f"block_rows * block_columns <= {max(MAX_BLOCK_TILES, most_columns)}",
        "register_tiles <= block_rows * block_columns",
        f"{least} <= {sums} and {sums} + register_vectors < {registers}",
        f"unroll <= ci_lanes and {sums} * unroll <= {MAX_UNROLLED}",
        *(
            f"tile_rows != {high} or tile_columns != {wide}"
            for high, wide in product(rows, columns)
            if (high, wide) not in _tiles(operator)
        ),
    ]
    return Space(parameters, map(Constraint, conditions))


def _row_counts(operator: Filtered) -> dict[int, int]:
    """Rows of tiles, by the rows of a tile."""
    return {size: rows_of_tiles(operator, size) for size in axes_of(operator)[0].sizes}


def _column_counts(operator: Filtered) -> dict[int, int]:
    """Tiles of a row, by the columns of a tile."""
    return {size: columns_of_tiles(operator, size) for size in axes_of(operator)[1].sizes}


def _tiles(operator: Filtered) -> list[tuple[int, int]]:
    """Rows and columns of the tiles to choose from."""
    rows, columns = axes_of(operator)
    return [
        tile
        for tile in product(rows.sizes, columns.sizes)
        if _positions(operator, *tile) <= MAX_POSITIONS
    ]


def _least_sums(operator: Filtered) -> int:
    """The least sums of a register tile: some block has as many tiles, whatever their size."""
    fewest = min(_row_counts(operator).values()) * min(_column_counts(operator).values())
    return min(MIN_REGISTER_TILE, fewest)


def _rows(*totals: int) -> tuple[int, ...]:
    """Rows of a block: all, and even parts of them."""
    parts = {
        -(-total // count)
        for total in totals
        for count in (*range(1, 17), *emit.powers_up_to(total))
    }
    return tuple(sorted(parts | {1}))


def _columns(operator: Filtered, *totals: int) -> tuple[int, ...]:
    """Columns of a block: all, or a half or a quarter of many if those are neighbours."""
    if axes_of(operator)[1].dilation > 1:
        return tuple(sorted(set(totals)))
    parts = {-(-total // count) for total in totals for count in (2, 4)}
    return tuple(sorted({part for part in parts if part >= 8} | set(totals)))


# -- the default ----------------------------------------------------------------------------------


def _default(operator: Filtered, lanes: int, registers: int, cores: int) -> Config:
    """Large tiles where there are enough of them; few weights read by each block, many shared."""
    high, wide = min(_tiles(operator), key=lambda tile: _work(operator, *tile))
    rows, columns = rows_of_tiles(operator, high), columns_of_tiles(operator, wide)
    weights = _positions(operator, high, wide) * operator.ci * operator.co
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
            "prefetch": 0 if weights <= MAX_WEIGHTS_OF_A_BLOCK else _PREFETCH[-1],
        }
    )


def _positions(operator: Filtered, tile_rows: int, tile_columns: int) -> int:
    rows, columns = axes_of(operator)
    return rows.minimal(tile_rows).products * columns.minimal(tile_columns).products


def _work(operator: Filtered, tile_rows: int, tile_columns: int) -> int:
    """Multiply-adds a pair of channels; each weight is read for a whole register tile at least."""
    tiles = rows_of_tiles(operator, tile_rows) * columns_of_tiles(operator, tile_columns)
    return _positions(operator, tile_rows, tile_columns) * max(tiles, MIN_REGISTER_TILE)


def _default_rows(operator: Filtered, grid: tuple[int, int], shares: int) -> int:
    """Rows of a block that is not too large, so that blocks share out evenly; larger ones first."""
    rows, columns = grid
    least = -(-min(MIN_REGISTER_TILE, rows * columns) // columns)
    most = max(least, DEFAULT_BLOCK_TILES // columns)
    values = _rows(*_row_counts(operator).values())
    fitting = [value for value in values if least <= value <= min(most, rows)] or [rows]
    return min(fitting, key=lambda value: (-(-rows // (value * shares)) * value, -value))


def _default_tiles(block_tiles: int, least: int, most: int) -> int:
    """Tiles in registers that cover a block with little overlap; larger ones first."""
    most = min(most, block_tiles)
    sizes = range(max(least, -(-most // 2)), most + 1)
    return min(sizes, key=lambda size: (-(-block_tiles // size) * size, -size))
