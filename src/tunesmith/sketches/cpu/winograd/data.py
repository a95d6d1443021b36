"""The transform of data, B^T d B, from bands of pixels that stay in L1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.winograd.transpose import store_all, transposed
from tunesmith.sketches.tir import emit
from tunesmith.sketches.winograd.tiling import DTYPE, Tiling
from tunesmith.sketches.winograd.transforms import StoredTransform


@dataclass(frozen=True)
class RowOfTiles:
    """The tiles of a block that are in one row.

    ``number`` is the row's number among all rows of tiles, ``in_block`` that in the block. The
    block's first column of tiles is ``first_column``, and ``block`` is its index in a buffer.
    All may be variables.
    """

    number: Any
    in_block: Any
    first_column: Any
    block: Any


def transform_data(
    tiling: Tiling, data: Any, transformed: Any, tiles: RowOfTiles, group: Any
) -> None:
    """B^T d B of a row of tiles, for a group of channels."""
    band = _read_band(tiling, data, tiles, group)
    lanes, (rows, columns), across = tiling.ci_lanes, tiling.minimal, tiling.axes[1]
    square = StoredTransform.of(rows.data, columns.data, DTYPE, lanes)
    with emit.serial(tiling.block_columns, "column") as column:
        x = emit.bind("x", tiling.first_column(tiles.first_column + column))
        tile = group * tiling.block_tiles + tiles.in_block * tiling.block_columns + column
        offset = emit.bind("offset", tile * lanes)

        def pixel(i: int, j: Any) -> Any:
            place = (across.first_input(x) + j * across.dilation) * lanes
            return emit.bind("pixel", emit.load(band, [i, place], lanes))

        def store(i: Any, j: int, value: Any) -> None:
            position = i * len(columns.data) + j
            emit.store(transformed, value, [tiles.block, position, offset], lanes)

        square.write(pixel, store)


def _read_band(tiling: Tiling, data: Any, tiles: RowOfTiles, group: Any) -> Any:
    """The rows of pixels that a row of tiles reads, with padding, of a group of channels.

    Of the columns only those under the block are read.
    """
    operator, lanes, down = tiling.operator, tiling.ci_lanes, tiling.axes[0]
    band = emit.buffer("band", (tiling.input_tile[0], tiling.input_columns * lanes), DTYPE)
    image, top = tiling.first_row(tiles.number)
    channel = emit.bind("channel", emit.tile_start(group, lanes, operator.ci))
    above, left = tiling.zeros_before
    right = left + operator.w
    with emit.serial(tiling.input_tile[0], "row") as row:
        y = down.first_input(top) + row * down.dilation - above
        y = emit.bind("y", y)

        def read() -> None:
            _clear(band, row, range(left), lanes)
            _clear(band, row, range(right, tiling.input_columns), lanes)
            _read_row(tiling, data, (image, channel, y), (band, row), tiles)

        def pad() -> None:
            _clear(band, row, range(tiling.input_columns), lanes)

        _if_then_else((y >= 0, y < operator.h), read, pad)
    return band


def _read_row(
    tiling: Tiling,
    data: Any,
    place: tuple[Any, Any, Any],
    target: tuple[Any, Any],
    tiles: RowOfTiles,
) -> None:
    """A row of pixels (image, first channel, y), to where the padding on its left ends in the
    band's row."""
    operator, lanes, step = tiling.operator, tiling.ci_lanes, tiling.read_columns
    (image, channel, y), (band, row) = place, target
    left, last = tiling.zeros_before[1], operator.w - step
    begin, needed = 0, operator.w
    if tiling.blocks[1] > 1:
        begin = tiling.axes[1].first_input(tiling.first_column(tiles.first_column)) - left
        needed = tiling.block_input_columns
    with emit.serial(emit.tile_count(needed, step), "step") as number:
        x = emit.bind("x", _within(begin + number * step, last))
        if tiling.channels_last:
            pixels = [emit.load(data, [image, y, x + i, channel], lanes) for i in range(step)]
        else:
            rows = [emit.load(data, [image, channel + i, y, x], step) for i in range(lanes)]
            pixels = transposed([emit.bind("values", values) for values in rows], step)
        store_all(band, pixels, [row, (x + left) * lanes])


def _within(place: Any, last: int) -> Any:
    """The place, clamped to 0 and ``last``."""
    from tvm.tirx.script.builder import ir

    return ir.max(0, ir.min(place, last)) if last else 0


def _clear(band: Any, row: Any, columns: range, lanes: int) -> None:
    if columns:
        zero = emit.constant(0, DTYPE, lanes)
        with emit.serial(len(columns), "pad") as pad:
            emit.store(band, zero, [row, (columns.start + pad) * lanes], lanes)


def _if_then_else(
    conditions: tuple[Any, ...], then: Callable[[], None], otherwise: Callable[[], None]
) -> None:
    """Emit a branch where all conditions hold, and one where they do not."""
    from tvm import tirx
    from tvm.tirx.script.builder import ir

    with ir.If(tirx.all(*conditions)):
        with ir.Then():
            then()
        with ir.Else():
            otherwise()
