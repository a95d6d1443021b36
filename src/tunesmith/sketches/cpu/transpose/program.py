"""The program of a plan: tasks of bands and output channels, phase by phase, then interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.sketches.cpu.direct import data as layouts
from tunesmith.sketches.cpu.direct.control import flat, memory, span
from tunesmith.sketches.cpu.direct.copying import copy_images
from tunesmith.sketches.cpu.direct.data import Source
from tunesmith.sketches.cpu.direct.kernel import Panel, Place, functions, reduce
from tunesmith.sketches.cpu.direct.result import Result as HeldResult
from tunesmith.sketches.cpu.transpose import weights as panels
from tunesmith.sketches.cpu.transpose.plan import Group, TransposePlan
from tunesmith.sketches.cpu.transpose.result import Result
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_with_weights


def transpose_program(plan: TransposePlan) -> Any:
    """The module: ``main``, and ``prepare`` where weights are constant."""

    def prepare(plain: Any, filled: Any) -> None:
        panels.pack(plan, flat(plain, "weights"), flat(filled, "panels"))

    return program_with_weights(
        plan.operator, panels.packed(plan), prepare, lambda buffers: _main(plan, buffers)
    )


def _main(plan: TransposePlan, buffers: Sequence[Any]) -> None:
    names = ("image", "panels", *(f"extra{i}" for i in range(len(buffers) - 3)), "result")
    data, weights, *extra, output = map(flat, buffers, names)
    source = plan.source
    with ExitStack() as held:
        held.enter_context(emit.llvm(functions(plan.grid)))
        if plan.copy == "image":
            elements = source.images * layouts.copied_elements(source, source.stored_rows)
            whole = held.enter_context(memory("copied", elements, plan.operator.accumulate_dtype))
            copy_images(source, data, whole)
            data = whole
        with emit.parallel(plan.tasks, "task") as task:
            image, channels, rows = _parts(plan, task)
            if plan.copy == "image":
                read = layouts.copied(source, data, image, source.stored_rows)
            else:
                read = layouts.in_place(source, data, image)
            _task(plan, read, weights, Result.of(plan, extra, output, image), (channels, rows))


def _parts(plan: TransposePlan, task: Any) -> tuple[Any, Any, Any]:
    """Image, part of the channels and band of a task; those that share what ``order`` says follow
    each other."""
    channels, bands = plan.channel_tasks, plan.bands
    image = emit.bind("image_number", task // (channels * bands))
    if plan.order == "weights":
        return image, task // bands % channels, task % bands
    return image, task % channels, task // channels % bands


def _task(
    plan: TransposePlan, source: Source, weights: Any, result: Result, part: tuple[Any, Any]
) -> None:
    """All phases of a band for one tile of channels after the other."""
    grid = plan.grid
    channel_tiles = _range(part[0], grid.channel_tiles, plan.channel_tasks, "channel_tile")
    row_tiles = _range(part[1], grid.row_tiles, plan.bands, "row_tile")
    first_row = emit.bind("first_row", emit.tile_start(row_tiles[0], grid.tile.rows, grid.rows))
    last = emit.tile_start(row_tiles[1] - 1, grid.tile.rows, grid.rows) + grid.tile.rows
    rows = emit.bind("rows", last - first_row)
    elements = plan.phases * grid.channel_tile * plan.band_rows * grid.columns
    with (
        memory("held", elements, plan.operator.accumulate_dtype) as held,
        span(*channel_tiles, "channel_tile") as channel_tile,
    ):
        panel = emit.bind("panel", channel_tile * plan.panel)
        band = _Band(plan, source, Panel(weights, panel), held, first_row, row_tiles)
        for group in plan.groups:
            band.compute(group)
        channel = emit.bind(
            "channel", emit.tile_start(channel_tile, grid.channel_tile, grid.operator.co)
        )
        result.interleave(held, channel, first_row, rows)


def _range(task: Any, tiles: int, tasks: int, name: str) -> tuple[Any, Any]:
    """The first tile of a task and the one behind its last: tasks differ by one tile at most."""
    if tasks == 1:
        return 0, tiles
    if tasks == tiles:
        return task, task + 1
    return (
        emit.bind(f"first_{name}", task * tiles // tasks),
        emit.bind(f"last_{name}", (task + 1) * tiles // tasks),
    )


@dataclass(frozen=True)
class _Band:
    """Rows of all phases of a tile of channels, computed into memory ``held``."""

    plan: TransposePlan
    source: Source
    weights: Panel
    held: Any
    first_row: Any
    row_tiles: tuple[Any, Any]

    def compute(self, group: Group) -> None:
        """Compute the phases of a group: the same code for all of them."""
        rows, columns = self.plan.rows, self.plan.columns
        with (
            emit.serial(group.rows.count, "row_phase") as row,
            emit.serial(group.columns.count, "column_phase") as column,
        ):
            phase = group.rows.first + row, group.columns.first + column
            place = rows.place(phase[0]) * columns.stride + columns.place(phase[1])
            number = emit.bind("phase_place", place)
            if group.taps == 0:
                self._clear(number)
                return
            start = rows.start(phase[0], group.rows.taps) * self.source.row
            start = start + columns.start(phase[1], group.columns.taps) * self.source.column
            source = replace(self.source, base=emit.bind("phase_data", self.source.base + start))
            own = self.weights.start + panels.phase_start(self.plan, group, row, column)
            weights = Panel(self.weights.buffer, emit.bind("phase_weights", own))
            self._tiles(
                group, source, weights, HeldResult(group.plan, self.held, None, None, number)
            )

    def _tiles(self, group: Group, source: Source, weights: Panel, result: HeldResult) -> None:
        grid = self.plan.grid
        with (
            span(*self.row_tiles, "row_tile") as row_tile,
            emit.serial(grid.column_tiles, "column_tile") as column_tile,
        ):
            row = emit.bind("row", emit.tile_start(row_tile, grid.tile.rows, grid.rows))
            column = emit.tile_start(column_tile, grid.column_tile, grid.columns)
            place = Place(row, emit.bind("column", column), 0)
            sums = reduce(group.plan, grid.tile, place, source, weights)
            result.write(sums, replace(place, row=emit.bind("held_row", row - self.first_row)))

    def _clear(self, number: Any) -> None:
        """A phase that no tap reaches."""
        grid = self.plan.grid
        elements = grid.channel_tile * self.plan.band_rows * grid.columns
        with emit.serial(elements, "element") as element:
            zero = emit.constant(0, self.plan.operator.accumulate_dtype)
            emit.store(self.held, zero, [number * elements + element])
