"""The program of a plan: tasks of pixels and output channels, and the loops of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from tunesmith.sketches.cpu.direct import data as layouts
from tunesmith.sketches.cpu.direct import weights as panels
from tunesmith.sketches.cpu.direct.control import (
    memory,
    parts_of_task,
    program_of_panels,
    span,
    tiles_of_task,
)
from tunesmith.sketches.cpu.direct.copying import copied_images, copy_rows
from tunesmith.sketches.cpu.direct.data import Source
from tunesmith.sketches.cpu.direct.kernel import Panel, Place, functions, reduce
from tunesmith.sketches.cpu.direct.plan import Plan, Tile
from tunesmith.sketches.cpu.direct.result import Result
from tunesmith.sketches.tir import emit


def direct_program(plan: Plan) -> Any:
    """The module: ``main``, and ``prepare`` where weights are constant."""
    return program_of_panels(
        plan.operator, panels.packed(plan), partial(panels.pack, plan), partial(_main, plan)
    )


def _main(plan: Plan, buffers: Sequence[Any]) -> None:
    data, weights, *_ = buffers
    with (
        emit.llvm(functions(plan)),
        copied_images(plan, data) as read,
        emit.parallel(plan.tasks, "task") as task,
    ):
        image, channels, pixels = parts_of_task(
            task, plan.channel_tasks, plan.pixel_tasks, plan.order
        )
        _task(plan, read, weights, Result(plan, buffers, image), (channels, pixels))


def _task(plan: Plan, data: Any, weights: Any, result: Result, part: tuple[Any, Any]) -> None:
    """The loops of a task, a part of the channels and of the pixels, over its tiles."""
    channel_task, pixel_task = part
    pixels = tiles_of_task(pixel_task, plan.pixel_tiles, plan.pixel_tasks, "pixel_tile")
    channels = tiles_of_task(channel_task, plan.channel_tiles, plan.channel_tasks, "channel_tile")
    order = [(channels, "channel_tile"), (pixels, "pixel_tile")]
    if plan.order == "pixels":
        order.reverse()
    with _source(plan, data, result.image, pixels) as source, ExitStack() as loops:
        steps = {name: loops.enter_context(span(*among, name)) for among, name in order}
        tiles = steps["channel_tile"], steps["pixel_tile"]
        _tile(plan, source, weights, result, tiles)


@contextmanager
def _source(plan: Plan, data: Any, image: Any, pixels: tuple[Any, Any]) -> Iterator[Source]:
    """The data of a task; copied first into memory of its own, where the plan says so."""
    if plan.copy == "none":
        yield layouts.in_place(plan, data, image)
        return
    if plan.copy == "image":
        yield layouts.copied(plan, data, image, plan.stored_rows)
        return
    first, last = _output_rows(plan, pixels)
    kept = plan.rows_for(plan.rows_per_task)
    elements = layouts.copied_elements(plan, kept)
    with memory("copied", elements, plan.operator.accumulate_dtype) as own:
        stride = plan.operator.stride[0] // plan.row_step
        start = emit.bind("first_row", first * stride)
        rows = (last - first - 1) * stride + plan.reach
        copy_rows(plan, data, own, image, (start, rows))
        source = layouts.copied(plan, own, 0, kept)
        yield replace(source, base=0 - start * source.row)


def _output_rows(plan: Plan, pixels: tuple[Any, Any]) -> tuple[Any, Any]:
    """The first row of the output that pixel tiles lie in, and the one behind the last."""
    first, last = pixels[0], pixels[1] - 1
    if plan.flat:
        wide = plan.operator.output_image[1]
        begin = emit.tile_start(first, plan.column_tile, plan.columns)
        end = emit.tile_start(last, plan.column_tile, plan.columns) + plan.column_tile
        return begin // wide, (end - 1) // wide + 1
    tile, rows = plan.tile.rows, plan.rows
    begin = emit.tile_start(first // plan.column_tiles, tile, rows)
    return begin, emit.tile_start(last // plan.column_tiles, tile, rows) + tile


def _tile(plan: Plan, source: Source, weights: Any, result: Result, tiles: tuple[Any, Any]) -> None:
    """Compute a tile of channels and pixels. Tails of their own size have their own code."""
    channel_tile, pixel_tile = tiles
    row_tile, column_tile = pixel_tile // plan.column_tiles, pixel_tile % plan.column_tiles
    channel = emit.tile_start(channel_tile, plan.channel_tile, plan.channels_out)
    group = result.image % plan.operator.groups
    panel = (group * plan.channel_tiles + channel_tile) * panels.panel(plan)
    own_weights = Panel(weights, emit.bind("panel", panel))
    rows = _variants(row_tile, plan.tile.rows, plan.tail_rows, plan.rows, 1)
    columns = _variants(
        column_tile, plan.tile.columns, plan.tail_columns, plan.columns, plan.lanes_columns
    )
    for row_condition, high, row in rows:
        for column_condition, wide, column in columns:
            with emit.when(row_condition), emit.when(column_condition):
                place = Place(
                    emit.bind("row", row),
                    emit.bind("column", column),
                    emit.bind("channel", channel),
                )
                tile = Tile(high, wide, plan.tile.channels)
                result.write(reduce(plan, tile, place, source, own_weights), place)


def _variants(
    tile: Any, size: int, tail: int, extent: int, unit: int
) -> list[tuple[Any, int, Any]]:
    """Condition, size in units and first element of the tiles of an axis."""
    if tail == 0:
        return [(None, size, emit.tile_start(tile, size * unit, extent))]
    tiles = emit.tile_count(extent, size * unit)
    if tiles == 1:
        return [(None, tail, extent - tail * unit)]
    return [
        (tile < tiles - 1, size, tile * (size * unit)),
        (tile == tiles - 1, tail, extent - tail * unit),
    ]
