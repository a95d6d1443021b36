"""How long a chain takes: its vectors, its traffic, and the parallel loop."""

from __future__ import annotations

from tunesmith.operators import Elementwise, Operand, element_bits
from tunesmith.sketches.cpu.elementwise.program import Blocking, Rows, Sharing
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.instructions import instructions_of
from tunesmith.target import Target

# Cycles in which the unit that divides and takes roots is busy with a vector.
_DIVISION = 6.0
# The out-of-order window of a core, in vectors.
_LOOK_AHEAD = 8.0
# Cycles of a step of a loop, and of beginning a row.
_STEP, _ROW = 1.0, 6.0


def estimated_seconds(operator: Elementwise, target: Target, blocking: Blocking) -> float:
    """Seconds of a call."""
    machine, rows = Machine.of(target), Rows.of(operator)
    sharing = Sharing.of(rows, blocking)
    vectors = emit.tile_count(sharing.length, blocking.lanes)
    of_row = vectors * _vector_cycles(operator, machine, blocking) + _ROW
    rounds = machine.rounds(sharing.tasks)
    size = element_bits(operator.dtype) / 8
    streams = 2 + sum(kind is Operand.ELEMENT for _, kind in operator.epilogue.operands)
    moved = rounds * sharing.rows * sharing.length * size * streams
    cycles = machine.overlapped(rounds * sharing.rows * of_row, machine.stream_cycles(moved, moved))
    return machine.seconds(cycles, regions=int(sharing.tasks > 1))


def _vector_cycles(operator: Elementwise, machine: Machine, blocking: Blocking) -> float:
    """Cycles of a vector of ``lanes``, which may be narrower than the machine's."""
    core, work = machine.core, instructions_of(operator.epilogue)
    width = machine.vectors(blocking.lanes, operator.accumulate_dtype)
    kinds = [kind for _, kind in operator.epilogue.operands]
    loads = 1 + kinds.count(Operand.ELEMENT)
    if operator.inner == 1:
        loads += kinds.count(Operand.CHANNEL)
    busiest = max(
        width * work.plain / core.fmas,
        width * work.divisions * _DIVISION,
        width * loads / core.loads,
        width / core.stores,
        (work.plain + work.divisions + loads + 1) / core.issue,
    )
    waited = work.plain * core.fma_latency / (blocking.unroll + _LOOK_AHEAD)
    return max(busiest, waited) + _STEP / blocking.unroll
