"""How long a reduction takes: its vectors, its traffic, and the parallel loop."""

from __future__ import annotations

import math

from tunesmith.operators import Reduce, element_bits
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.reduce.columns import Extents
from tunesmith.sketches.cpu.reduce.program import Blocking
from tunesmith.sketches.tir import emit
from tunesmith.target import Target

# What a step of the loop over tasks costs beside its vectors, in cycles.
_TASK_CYCLES = 20


def reduce_seconds(operator: Reduce, target: Target, blocking: Blocking) -> float:
    """Seconds of a call of ``reduce_program``."""
    machine, parts = Machine.of(target), blocking.parts
    first = Extents(operator.outer * parts, operator.n // parts, operator.inner)
    size = element_bits(operator.dtype) / 8
    cycles = _pass_cycles(operator, machine, first, blocking, size, shared=blocking.shared)
    if parts > 1:
        second = Extents(operator.outer, parts, operator.inner)
        between = element_bits(operator.accumulate_dtype) / 8
        cycles += _pass_cycles(operator, machine, second, blocking, between, shared=False)
    return machine.seconds(cycles, regions=int(blocking.shared))


def _pass_cycles(
    operator: Reduce,
    machine: Machine,
    extents: Extents,
    blocking: Blocking,
    size: float,
    *,
    shared: bool,
) -> float:
    if extents.inner == 1:
        tasks, task = _rows(operator, machine, extents, blocking)
    else:
        tasks, task = _columns(operator, machine, extents, blocking)
    rounds = machine.rounds(tasks) if shared else tasks
    part = size * extents.outer * extents.count * extents.inner * rounds / tasks
    return machine.overlapped(rounds * (task + _TASK_CYCLES), machine.stream_cycles(part, part))


def _rows(
    operator: Reduce, machine: Machine, extents: Extents, blocking: Blocking
) -> tuple[int, float]:
    """How many tasks there are, and the cycles of each."""
    sweep = blocking.sweep(extents.count)
    vectors, group = len(sweep.starts()), sweep.lanes if extents.outer >= sweep.lanes else 1
    steps = vectors / max(1, sweep.side_by_side)
    step = _step_cycles(operator, machine, sweep.lanes, max(1, sweep.side_by_side))
    latency = machine.core.fma_latency
    across = latency * math.log2(max(2, sweep.lanes)) if group == 1 else 3.0
    return emit.tile_count(extents.outer, group), group * (steps * step + across)


def _columns(
    operator: Reduce, machine: Machine, extents: Extents, blocking: Blocking
) -> tuple[int, float]:
    """The same for vectors along the last axis."""
    tile = blocking.tile
    tiles = extents.outer * emit.tile_count(extents.inner, tile.size)
    sums = tile.vectors * tile.unroll
    steps = extents.count / tile.unroll
    return tiles, steps * _step_cycles(operator, machine, tile.lanes, sums) + sums


def _step_cycles(operator: Reduce, machine: Machine, lanes: int, vectors: int) -> float:
    """Cycles to load so many vectors and to combine each with a sum of its own."""
    cycles = machine.register_tile_cycles(vectors, vectors)
    return cycles * machine.vectors(lanes, operator.accumulate_dtype)
