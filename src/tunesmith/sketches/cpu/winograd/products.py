"""The matrix products at each position of the tiles, and their transform to outputs, A^T m A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tunesmith.sketches.cpu.winograd.data import RowOfTiles
from tunesmith.sketches.cpu.winograd.transpose import columns_of, transposed
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import finished
from tunesmith.sketches.tir.multiply_add import multiply_add
from tunesmith.sketches.tir.registers import Registers
from tunesmith.sketches.winograd.tiling import DTYPE, Tiling
from tunesmith.sketches.winograd.transforms import StoredTransform


def multiply(
    tiling: Tiling, data: Sequence[Any], weights: Sequence[Any], products: Sequence[Any]
) -> None:
    """The products of the tiles of a block with a panel of weights, at one position.

    Each operand is a buffer and an index into it: of a block and a position in the transformed
    data, of a position and a panel in the weights, of a block, a position and a panel in the
    products.
    """
    source, *source_place = data
    panels, *panel_place = weights
    target, *target_place, panel = products
    lanes, vectors, tiles = tiling.co_lanes, tiling.register_vectors, tiling.register_tiles
    sums, line = Registers("sums", tiles * vectors, lanes, DTYPE), emit.line_elements(DTYPE)
    with emit.serial(emit.tile_count(tiling.block_tiles, tiles), "tiles") as number:
        first = emit.bind("first", emit.tile_start(number, tiles, tiling.block_tiles))
        for register in range(tiles * vectors):
            sums[register] = emit.constant(0, DTYPE, lanes)
        steps = tiling.ci_lanes // tiling.unroll
        with emit.serial(tiling.groups * steps, "step") as step:
            offset = (step // steps * tiling.block_tiles + first) * tiling.ci_lanes
            offset = emit.bind("offset", offset + step % steps * tiling.unroll)
            for unrolled in range(tiling.unroll):
                channel = step * tiling.unroll + unrolled
                if tiling.prefetch:
                    for v in range(tiling.panel):
                        if (unrolled * tiling.panel + v) % line == 0:
                            emit.prefetch(panels, [*panel_place, channel + tiling.prefetch, v])
                row = [
                    emit.load(panels, [*panel_place, channel, v * lanes], lanes)
                    for v in range(vectors)
                ]
                row = [emit.bind("weights", vector) for vector in row]
                for tile in range(tiles):
                    place = offset + tile * tiling.ci_lanes + unrolled
                    value = emit.bind(
                        "value", emit.broadcast(source[(*source_place, place)], lanes)
                    )
                    for v, vector in enumerate(row):
                        register = tile * vectors + v
                        total = sums[register]
                        if tiling.needs_multiply_add:
                            sums[register] = multiply_add(total, value, vector, DTYPE, lanes)
                        else:
                            sums[register] = total + value * vector
        begin = (panel * tiling.block_tiles + first) * tiling.panel
        begin = emit.bind("begin", begin)
        for register in range(tiles * vectors):
            emit.store(target, sums[register], [*target_place, begin + register * lanes], lanes)


def transform_products(
    tiling: Tiling,
    products: tuple[Any, Any],
    results: Sequence[Any],
    tiles: RowOfTiles,
    panel: Any,
) -> None:
    """A^T m A of a row of tiles, for a panel of channels, and what follows the sums.

    ``products`` are a buffer and the number of the panel there, which is another one in buffers for
    a chunk of all panels; ``results`` are the epilogue's inputs and the output.
    """
    from tvm import tirx

    source, panel_of_source = products
    lanes, down = tiling.co_lanes, tiling.axes[0]
    image, y = tiling.first_row(tiles.number)
    band = emit.buffer("outputs", (tiling.tile_rows, tiling.output_columns * lanes), DTYPE)
    with emit.serial(tiling.register_vectors, "vector") as vector:
        co = emit.tile_start(panel, tiling.panel, tiling.operator.co) + vector * lanes
        co = emit.bind("co", co)
        bias = _bias(tiling, results, co)
        parts = _parts(tiling)
        with emit.serial(tiling.block_columns, "column") as column:
            x = emit.bind("x", tiling.first_column(tiles.first_column + column))
            tile = tiles.in_block * tiling.block_columns + column
            tile = panel_of_source * tiling.block_tiles + tile
            offset = emit.bind("offset", tile * tiling.panel + vector * lanes)
            for part in parts:
                _write_part(tiling, part, (source, tiles.block, offset), (band, x, bias))
        with emit.serial(tiling.written_rows, "row") as row:
            line = y + row * down.dilation
            inside: Any = True
            if not tiling.whole_rows:
                line = emit.bind("line", line - tiling.cut[0])
                inside = tirx.all(line >= 0, line < tiling.operator.output_image[0])
            with emit.when(inside):
                _write_row(tiling, (band, row), results, (image, co, line), tiles)


@dataclass(frozen=True)
class _Part:
    """The outputs of a tile of one phase.

    A transform of their own holds fewer values. ``products`` is the place of the first product in
    the tile, ``outputs`` that of the first output.
    """

    products: tuple[int, int]
    outputs: tuple[int, int]
    square: StoredTransform


def _parts(tiling: Tiling) -> list[_Part]:
    """The parts of a tile that have outputs to be written."""
    rows, columns = tiling.minimal
    found = []
    for (down, (first_row, row_matrix)), (across, (first_column, column_matrix)) in product(
        enumerate(rows.parts), enumerate(columns.parts)
    ):
        written = row_matrix[: emit.tile_count(max(0, tiling.written_rows - down), rows.turns)]
        if written:
            square = StoredTransform.of(written, column_matrix, DTYPE, tiling.co_lanes)
            found.append(_Part((first_row, first_column), (down, across), square))
    return found


def _write_part(
    tiling: Tiling, part: _Part, products: Sequence[Any], target: Sequence[Any]
) -> None:
    """The outputs of a part of a tile.

    ``products`` are a buffer, the block and the offset of a position's products there; ``target``
    is a band, the tile's first column there and the bias.
    """
    (source, block, offset), (band, x, bias) = products, target
    lanes, (rows, columns) = tiling.co_lanes, tiling.minimal

    def element(i: int, j: Any) -> Any:
        first_row, first_column = part.products
        position = (first_row + i) * tiling.products_tile[1] + first_column + j
        return emit.bind("product", emit.load(source, [block, position, offset], lanes))

    def store(i: Any, j: int, value: Any) -> None:
        down, across = part.outputs
        place = (x + (across + j * columns.turns) * tiling.axes[1].dilation) * lanes
        emit.store(band, value + bias, [down + i * rows.turns, place], lanes)

    part.square.write(element, store)


def _bias(tiling: Tiling, results: Sequence[Any], co: Any) -> Any:
    if not tiling.operator.epilogue.bias:
        return emit.constant(0, DTYPE, tiling.co_lanes)
    return emit.bind("bias", emit.load(results[0], [co], tiling.co_lanes))


def _write_row(
    tiling: Tiling,
    source: tuple[Any, Any],
    results: Sequence[Any],
    place: tuple[Any, Any, Any],
    tiles: RowOfTiles,
) -> None:
    """The columns of a block in a band's row, to the output (image, first channel, y)."""
    from tvm.tirx.script.builder import ir

    lanes, step = tiling.co_lanes, tiling.written_columns
    (band, row), (image, co, y) = source, place
    wide, width = tiling.operator.output_image[1], tiling.block_columns * tiling.tile_columns
    begin, cut = tiling.first_column_of_block(tiles.first_column), tiling.cut[1]
    with emit.serial(emit.tile_count(width, step), "step") as number:
        if cut:
            inside = ir.max(begin - cut, 0), ir.min(begin + (width - cut), wide)
        else:
            inside = begin, ir.min(begin + width, wide)
        x = emit.bind("x", ir.min(inside[0] + number * step, inside[1] - step))
        pixels = [emit.load(band, [row, (x + (cut + i)) * lanes], lanes) for i in range(step)]
        pixels = [emit.bind("pixel", pixel) for pixel in pixels]
        if tiling.channels_last:
            for i, pixel in enumerate(pixels):
                _write(tiling, results, pixel, [image, y, x + i, co], lanes)
        else:
            for i, channel in enumerate(columns_of(transposed(pixels, lanes), step)):
                _write(tiling, results, channel, [image, co + i, y, x], step)


def _write(
    tiling: Tiling, results: Sequence[Any], value: Any, index: Sequence[Any], lanes: int
) -> None:
    """Neighbouring outputs, after the epilogue; the bias was added before."""
    *tensors, output = results
    channel = index[-1] if tiling.channels_last else index[1]
    value = finished(
        tiling.operator,
        value,
        lanes,
        tensors,
        of_channel=lambda tensor: _channels(tiling, tensor, channel, lanes),
        of_element=lambda tensor: emit.load(tensor, index, lanes),
        bias_added=True,
    )
    emit.store(output, value, index, lanes)


def _channels(tiling: Tiling, tensor: Any, channel: Any, lanes: int) -> Any:
    """The numbers of the channels of a vector of outputs."""
    if tiling.channels_last:
        return emit.load(tensor, [channel], lanes)
    return emit.broadcast(emit.load(tensor, [channel]), lanes)
