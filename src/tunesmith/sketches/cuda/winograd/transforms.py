"""The transforms as kernels, one thread a tile and channel, straight code over registers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tunesmith.sketches.cuda.winograd.sizes import Sizes
from tunesmith.sketches.cuda.written import kernel, register, together
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import finished, per_channel
from tunesmith.sketches.winograd.tiling import DTYPE
from tunesmith.sketches.winograd.transforms import flat, transform


def transform_weights(sizes: Sizes, weight: Any, transformed: Any) -> None:
    """G g G^T of each pair of channels."""
    operator, (rows, columns) = sizes.operator, sizes.minimal
    steps = operator.co * operator.ci
    with kernel("transform_weights", steps, sizes.weight_threads, [weight], [transformed]) as step:
        co, ci = emit.unravel_index(step, co=operator.co, ci=operator.ci)

        def tap(i: int, j: int) -> Any:
            return register("tap", weight[co, ci, i, j])

        square = transform(rows.filter, columns.filter, tap, register)
        _store_positions(sizes, square, transformed, ci, co)


def transform_data(sizes: Sizes, data: Any, transformed: Any) -> None:
    """B^T d B of each tile and input channel."""
    from tvm import tirx

    operator, (rows, columns) = sizes.operator, sizes.minimal
    steps = sizes.tile_count * operator.ci
    with kernel("transform_data", steps, sizes.data_threads, [data], [transformed]) as step:
        tile, ci = emit.unravel_index(step, tile=sizes.tile_count, ci=operator.ci)
        image, top, left = _place(sizes, tile)

        def pixel(i: int, j: int) -> Any:
            y, x = top + (i - operator.padding[0]), left + (j - operator.padding[1])
            inside = tirx.all(y >= 0, y < operator.h, x >= 0, x < operator.w)
            value = emit.if_then_else(inside, data[image, ci, y, x], emit.constant(0, DTYPE))
            return register("pixel", value)

        square = transform(rows.data, columns.data, pixel, register)
        _store_positions(sizes, square, transformed, ci, tile)


def transform_products(sizes: Sizes, products: Any, results: Sequence[Any]) -> None:
    """A^T m A of each tile and output channel, and what follows the sums.

    ``results`` are the epilogue's inputs and the output.
    """
    operator, (rows, columns) = sizes.operator, sizes.minimal
    *further, output = results
    steps = sizes.tile_count * operator.co
    reads = [products, *further]
    with kernel("transform_products", steps, sizes.output_threads, reads, [output]) as step:
        tile, co = emit.unravel_index(step, tile=sizes.tile_count, co=operator.co)

        def product(i: int, j: int) -> Any:
            first = (i * sizes.input_tile[1] + j) * sizes.splits
            value = products[first, co, tile]
            for split in range(1, sizes.splits):
                value = value + products[first + split, co, tile]
            return register("product", value)

        square = transform(rows.output, columns.output, product, register)
        _store_outputs(sizes, square, results, (co, *_place(sizes, tile)))


def _place(sizes: Sizes, tile: Any) -> tuple[Any, Any, Any]:
    """The image of a tile, and the first row and column of its outputs."""
    rows, columns = sizes.grid
    column, row, image = emit.unravel_index(tile, column=columns, row=rows, image=sizes.operator.n)
    return image, row * sizes.tile_rows, column * sizes.tile_columns


def _store_positions(
    sizes: Sizes, square: Sequence[Sequence[Any]], target: Any, ci: Any, last: Any
) -> None:
    """Each element of a transformed tile to the matrix of its position."""
    split, inner = (0, ci) if sizes.splits == 1 else (ci // sizes.split_ci, ci % sizes.split_ci)
    for position, value in enumerate(flat(square)):
        emit.store(target, value, [position * sizes.splits + split, inner, last])


def _store_outputs(
    sizes: Sizes, square: Sequence[Sequence[Any]], results: Sequence[Any], place: Sequence[Any]
) -> None:
    """A tile's outputs, as far as they are in the image, after the epilogue.

    ``place`` is the channel, the image, and the first row and column.
    """
    from tvm import tirx

    operator, (co, image, top, left) = sizes.operator, place
    *further, output = results
    high, wide = operator.output_image
    # The number of neighbours that are all in the image, or none of them.
    lanes = math.gcd(wide, sizes.tile_columns)
    numbers = {
        tensor: register(name, tensor[co])
        for name, tensor in per_channel(operator, further).items()
    }

    def store(value: Any, index: tuple[Any, ...]) -> None:
        value = finished(
            operator,
            value,
            lanes,
            further,
            of_channel=lambda tensor: emit.broadcast(numbers[tensor], lanes),
            of_element=lambda tensor: emit.load(tensor, index, lanes),
        )
        emit.store(output, value, index, lanes)

    for i, row in enumerate(square):
        for j in range(0, sizes.tile_columns, lanes):
            with emit.when(tirx.all(top + i < high, left + j < wide)):
                store(together(row[j : j + lanes]), (image, co, top + i, left + j))
