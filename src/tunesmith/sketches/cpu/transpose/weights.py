"""Weights in the order in which the kernel reads them: phase by phase, their taps reversed."""

from __future__ import annotations

import math
from typing import Any

from tunesmith.operators import Argument
from tunesmith.sketches.cpu.direct.transpose import pieces, transposed
from tunesmith.sketches.cpu.transpose.phases import Axis, PhaseGroup
from tunesmith.sketches.cpu.transpose.plan import Group, TransposePlan
from tunesmith.sketches.tir import emit, shuffles


def packed(plan: TransposePlan) -> Argument:
    """A panel for each tile of output channels (they overlap where they do not divide these).

    A panel has the phases by group; a phase has block of input channels, row and column of its
    taps, input channel, and output channel in the tile.
    """
    op, grid = plan.operator, plan.grid
    shape = (grid.channel_tiles, op.reduction_length, grid.channel_tile)
    return Argument("packed_weight", shape, op.accumulate_dtype)


def phase_start(plan: TransposePlan, group: Group, row: Any, column: Any) -> Any:
    """Where a phase begins in a panel; ``row`` and ``column`` count from the group's first."""
    number = row * group.columns.count + column
    return (group.before + number * group.taps) * (plan.operator.ci * plan.grid.channel_tile)


def pack(plan: TransposePlan, weight: Any, target: Any) -> None:
    """Fill the packed weights, seen as flat memory, from the operator's."""
    op, width = plan.operator, plan.grid.channel_tile
    taps = math.prod(op.kernel)
    # A row is an input channel of a panel.
    with emit.parallel(plan.grid.channel_tiles * (op.ci // plan.block), "packed_block") as step:
        tile, outer = step // (op.ci // plan.block), step % (op.ci // plan.block)
        start = emit.bind("channel", emit.tile_start(tile, width, op.co))
        base = emit.bind("panel_start", tile * plan.panel)
        side = min(emit.power_of_two(width), plan.lanes)
        with (
            emit.serial(plan.block, "inner") as inner,
            emit.serial(emit.tile_count(width, side), "lanes") as lane_tile,
        ):
            lane = emit.bind("lane", emit.tile_start(lane_tile, side, width))
            source = (outer * plan.block + inner) * op.co + start + lane
            source = emit.bind("source", source * taps)
            for first, count in pieces(taps, side):
                for tap, value in enumerate(_columns(weight, source + first, taps, side, count)):
                    place = base + _place(plan, first + tap, outer, inner) * width + lane
                    kind = emit.vector_type(str(target.dtype), side)
                    emit.store(target, value.astype(kind), [place], side)


def _columns(weight: Any, start: Any, pitch: int, rows: int, count: int) -> list[Any]:
    """The first ``count`` columns of ``rows`` rows of a matrix, ``pitch`` apart."""
    if count == 1:
        return [emit.load(weight, [start], rows, pitch)]
    blocks = [
        transposed(
            [emit.load(weight, [start + (first + i) * pitch], count) for i in range(count)], count
        )
        for first in range(0, rows, count)
    ]
    if len(blocks) == 1:
        return blocks[0]
    return [shuffles.shuffled(parts, range(rows)) for parts in zip(*blocks, strict=True)]


def _place(plan: TransposePlan, tap: int, outer: Any, inner: Any) -> Any:
    """Where a tap of an input channel is in a panel, in rows of a tile's output channels."""
    op = plan.operator
    rows, ty, row_phase = _turned(plan.rows, tap // op.kernel[1])
    columns, tx, column_phase = _turned(plan.columns, tap % op.kernel[1])
    (group,) = (g for g in plan.groups if (g.rows, g.columns) == (rows, columns))
    number = row_phase * columns.count + column_phase
    start = (group.before + number * group.taps) * op.ci
    taps = (outer * rows.taps + ty) * columns.taps + tx
    return start + taps * plan.block + inner


def _turned(axis: Axis, tap: int) -> tuple[PhaseGroup, int, int]:
    """The group of a tap's phase, the tap's number among the phase's taps in reverse order, and the
    phase's number in the group."""
    phase = tap % axis.stride
    (group,) = (g for g in axis.groups if g.first <= phase < g.first + g.count)
    return group, group.taps - 1 - tap // axis.stride, phase - group.first
