"""The program of a plan: tasks of bands and output channels, phase by phase, then interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tunesmith.sketches.cpu.direct import data as layouts
from tunesmith.sketches.cpu.direct.control import (
    memory,
    parts_of_task,
    program_of_panels,
    span,
    tiles_of_task,
)
from tunesmith.sketches.cpu.direct.copying import copied_images
from tunesmith.sketches.cpu.direct.data import Source
from tunesmith.sketches.cpu.direct.kernel import Panel, Place, functions, reduce
from tunesmith.sketches.cpu.direct.result import Result as HeldResult
from tunesmith.sketches.cpu.transpose import weights as panels
from tunesmith.sketches.cpu.transpose.plan import Group, TransposePlan
from tunesmith.sketches.cpu.transpose.result import Result
from tunesmith.sketches.tir import emit


def transpose_program(plan: TransposePlan) -> Any:
    """The module: ``main``, and ``prepare`` where weights are constant."""
    return program_of_panels(
        plan.operator, panels.packed(plan), partial(panels.pack, plan), partial(_main, plan)
    )


def _main(plan: TransposePlan, buffers: Sequence[Any]) -> None:
    data, weights, *_ = buffers
    source = plan.source
    with (
        emit.llvm(functions(plan.grid)),
        copied_images(source, data) as whole,
        emit.parallel(plan.tasks, "task") as task,
    ):
        image, channels, rows = parts_of_task(task, plan.channel_tasks, plan.bands, plan.order)
        if plan.copy == "image":
            read = layouts.copied(source, whole, image, source.stored_rows)
        else:
            read = layouts.in_place(source, whole, image)
        _task(plan, read, weights, Result(plan, buffers, image), (channels, rows))


def _task(
    plan: TransposePlan, source: Source, weights: Any, result: Result, part: tuple[Any, Any]
) -> None:
    """All phases of a band for one tile of channels after the other."""
    grid = plan.grid
    channel_tiles = tiles_of_task(part[0], grid.channel_tiles, plan.channel_tasks, "channel_tile")
    row_tiles = tiles_of_task(part[1], grid.row_tiles, plan.bands, "row_tile")
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
            self._tiles(group, source, weights, HeldResult(group.plan, [self.held], number))

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
