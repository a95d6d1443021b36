"""How long pooling takes: its register tiles, its traffic, and the parallel loop."""

from __future__ import annotations

import math
from functools import lru_cache

from tunesmith.operators import Pool2d, element_bits
from tunesmith.sketches.cpu.depthwise.image_tiles import layout_of
from tunesmith.sketches.cpu.depthwise.windows import axes_of
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.pool.kernel import Blocking
from tunesmith.sketches.tir import emit
from tunesmith.target import Target

# What a step of the loop over planes and a tile cost beside their vectors, in cycles.
_TASK_CYCLES, _TILE_CYCLES = 20, 4
# By what factor masks slow loads down, and the cost of a store under one.
_MASKING, _MASKED_STORE = 1.3, 6


def pool_seconds(operator: Pool2d, target: Target, blocking: Blocking) -> float:
    """Seconds of a call of ``pool_program``."""
    machine, tile = Machine.of(target), blocking.tile
    width = 1 if operator.layout == "NCHW" else tile.lanes
    tasks = operator.n * emit.tile_count(operator.c, width) * tile.bands
    layout = layout_of(operator, tile)
    row_axis, column_axis = axes_of(operator)
    rows = emit.tile_count(row_axis.count, layout.rows.size) / tile.bands
    columns = emit.tile_count(column_axis.count, layout.columns.size)
    cycles = _tile_cycles(operator, machine, blocking) * machine.vectors(tile.lanes, operator.dtype)
    masking = _MASKING if tile.masked else 1.0
    task = rows * columns * (cycles * masking + _TILE_CYCLES) + _TASK_CYCLES
    return _shared_seconds(operator, machine, tasks, task, shared=blocking.shared)


def whole_seconds(
    operator: Pool2d, target: Target, lanes: int, unroll: int, *, shared: bool
) -> float:
    """Seconds of a call where windows are as large as the image."""
    machine = Machine.of(target)
    planes, vectors = operator.n * operator.c, math.ceil(math.prod(operator.kernel) / lanes)
    side_by_side = min(unroll, vectors)
    waiting = machine.core.fma_latency / (side_by_side + 2)
    plane = vectors * max(1 / machine.core.loads, waiting) + side_by_side + 3
    grouped = lanes if planes >= lanes else 1
    ends = 0.0 if grouped > 1 else 4 * machine.core.fma_latency
    task = grouped * machine.vectors(lanes, operator.dtype) * plane + ends + _TILE_CYCLES
    tasks = emit.tile_count(planes, grouped)
    return _shared_seconds(operator, machine, tasks, task, shared=shared)


def _shared_seconds(
    operator: Pool2d, machine: Machine, tasks: int, task: float, *, shared: bool
) -> float:
    rounds = machine.rounds(tasks) if shared else tasks
    itemsize = element_bits(operator.dtype) / 8
    touched = itemsize * (operator.arguments[0].elements + operator.result.elements)
    part = touched * rounds / tasks
    cycles = machine.overlapped(rounds * task, machine.stream_cycles(part, part))
    return machine.seconds(cycles, regions=int(shared))


@lru_cache(maxsize=1024)
def _tile_cycles(operator: Pool2d, machine: Machine, blocking: Blocking) -> float:
    """The cycles of a tile, as if its vectors were the machine's."""
    tile, (row_axis, column_axis) = blocking.tile, axes_of(operator)
    plan = layout_of(operator, tile).plan
    taps, vectors = range(column_axis.taps), len(plan.offsets)
    made = [plan.sources(vector, tap) for vector in range(vectors) for tap in taps]
    at = {offset for sources in made for offset in sources}
    straddling = sum(offset % plan.lanes != 0 for offset in at) if plan.lanes > 1 else 0
    picked = {
        (sources, plan.picks(vector, tap)[0])
        for vector in range(vectors)
        for tap in taps
        for sources in [plan.sources(vector, tap)]
        if len(sources) > 1
    }
    shuffles = sum(len(sources) - 1 for sources, _ in picked)
    rows_read = {
        row * row_axis.stride + tap for row in range(tile.rows) for tap in range(row_axis.taps)
    }
    down, along = tile.rows * (row_axis.taps - 1), (column_axis.taps - 1) * vectors
    if blocking.rows_first:
        combined = down * len(at) + tile.rows * along
        shuffled = tile.rows * shuffles
    else:
        combined = len(rows_read) * along + down * vectors
        shuffled = len(rows_read) * shuffles
    results = tile.rows * vectors
    narrow = operator.layout == "NCHW" and column_axis.count < tile.lanes
    # Vectors of 32 bytes take two instructions to pick from two others.
    wide = 1 if machine.vector_bytes >= 64 else 2
    # A comparison or addition is done where multiplications are.
    return machine.register_tile_cycles(
        combined,
        len(rows_read) * (len(at) + straddling / 2),
        stores=results * (_MASKED_STORE if narrow else 1),
        shuffles=shuffled * wide,
        accumulators=combined,
        registers=len(at) + vectors + 2,
    )
