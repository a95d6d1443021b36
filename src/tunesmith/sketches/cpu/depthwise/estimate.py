"""How long a blocking takes: its register tiles, its traffic, and the parallel loop."""

from __future__ import annotations

from functools import lru_cache

from tunesmith.operators import DepthwiseConv2d
from tunesmith.sketches.cpu.depthwise.image_tiles import Blocking, layout_of
from tunesmith.sketches.cpu.depthwise.windows import axes_of
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.tir import emit
from tunesmith.target import Target

# What a step of the parallel loop and a register tile cost beside their vectors, in cycles.
_TASK_CYCLES = 20
_TILE_CYCLES = 4
# By what factor masks slow loads down.
_MASKING = 1.2
# Shuffles take one of the two units that multiply-adds are done in: the part of a multiply-add
# that one costs.
_SHUFFLE = 0.75


def estimated_seconds(operator: DepthwiseConv2d, target: Target, blocking: Blocking) -> float:
    """Seconds of a call."""
    machine = Machine.of(target)
    rows, columns, tile = _tile_cycles(operator, machine, blocking)
    channels = operator.c * operator.multiplier
    width = 1 if operator.layout == "NCHW" else blocking.lanes
    tasks = operator.n * emit.tile_count(channels, width) * blocking.bands
    share = rows / blocking.bands * columns * tile  # some bands have a tile more than others
    taps = operator.kernel[0] * operator.kernel[1]
    computing = machine.rounds(tasks) * (share + taps + _TASK_CYCLES)
    itemsize = int(operator.dtype[-2:]) // 8
    touched = itemsize * sum(one.elements for one in (operator.operands[0], operator.result))
    part = touched * machine.parallel_share(tasks)
    return machine.seconds(machine.overlapped(computing, machine.stream_cycles(part, part)))


@lru_cache(maxsize=1024)
def _tile_cycles(
    operator: DepthwiseConv2d, machine: Machine, blocking: Blocking
) -> tuple[int, int, float]:
    """How many tiles there are along rows and columns, and the cycles of each."""
    row_axis, column_axis = axes_of(operator)
    loads, straddling, shuffles = _row_counts(
        operator, blocking.lanes, blocking.vectors, blocking.shuffled
    )
    sums = blocking.rows * blocking.vectors
    needed = {
        row * row_axis.stride + tap * row_axis.dilation
        for row in range(blocking.rows)
        for tap in range(row_axis.taps)
    }
    taps = row_axis.taps * column_axis.taps
    moved = len(needed) * shuffles
    cycles = machine.register_tile_cycles(
        sums * taps + _SHUFFLE * moved,
        len(needed) * (loads + straddling),
        stores=sums,
        shuffles=moved,
        accumulators=sums,
        registers=sums + taps + loads,
    )
    narrow = blocking.lanes < machine.lanes(operator.dtype)
    # Where a core has one unit for whole vectors, a vector of half the width takes half the time.
    halves = 0.5 if narrow and machine.core.fmas <= 1 else 1.0
    masking = _MASKING if blocking.masked else 1.0
    layout = layout_of(operator, blocking)
    return (
        emit.tile_count(row_axis.count, layout.rows.size),
        emit.tile_count(column_axis.count, layout.columns.size),
        cycles * halves * masking + _TILE_CYCLES,
    )


@lru_cache(maxsize=1024)
def _row_counts(
    operator: DepthwiseConv2d, lanes: int, vectors: int, shuffled: bool
) -> tuple[int, int, int]:
    """Of a row of inputs: its loads, how many of them straddle cache lines, and its shuffles."""
    plan = layout_of(operator, Blocking(lanes, 1, vectors, shuffled=shuffled)).plan
    taps = range(plan.axis.taps)
    made = [plan.sources(vector, tap) for vector in range(vectors) for tap in taps]
    loads = {offset for sources in made for offset in sources}
    shuffles = sum(max(1, len(sources) - 1) for sources in made if len(sources) > 1)
    return len(loads), sum(offset % plan.lanes != 0 for offset in loads), shuffles
