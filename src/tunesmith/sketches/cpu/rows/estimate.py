"""How long a blocking of rows takes: its vectors, its traffic, and the parallel loop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tunesmith.operators import LayerNorm, Softmax, element_bits
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.rows.blocking import AGAIN, BLOCKS, PEAKS, REGISTERS, Blocking
from tunesmith.target import Target

# exp of a vector: instructions of the units that multiply, others, and those of a chain.
_EXP_MULTIPLIES, _EXP_OTHERS, _EXP_CHAIN = 11, 5, 12
# Registers for its constants and for each vector in flight, and the cycles a vector of each spilled
# register.
_EXP_CONSTANTS, _EXP_ALIVE, _SPILLED = 12, 4, 0.05
# The out-of-order window of a core, in steps of one vector.
_LOOK_AHEAD = 8.0
# The latency of an addition or a comparison, relative to that of a multiply-add.
_ADDITION = 0.75
# Cycles of a division with a root, and of a step of a loop.
_DIVISION, _STEP = 15.0, 1.0
# The part of the traffic beyond the caches that is left to wait for with prefetching.
_PREFETCHED = 0.7
# The part of the latency at the end of a row that the next row does not hide.
_EXPOSED = 0.4


@dataclass(frozen=True)
class _Stage:
    """A pass over a row: per vector, its instructions; ``exps`` of it, ``sums`` it adds to."""

    multiplies: float
    loads: float
    stores: float = 0.0
    exps: int = 0
    reduces: bool = False


_LOAD = _Stage(0, 1)
_LARGEST = _Stage(1, 1, reduces=True)
_ADD_POWERS = _Stage(1, 1, exps=1, reduces=True)
_STORE_POWERS = _Stage(1, 1, 1, exps=1, reduces=True)
_WRITE_POWERS = _Stage(1, 1, 1, exps=1)
_SCALE = _Stage(1, 1, 1)
_ADD = _Stage(1, 1, reduces=True)
_SQUARES = _Stage(2, 1, reduces=True)
_NORMALISE = _Stage(3, 1, 1)


def estimated_seconds(operator: Softmax | LayerNorm, target: Target, blocking: Blocking) -> float:
    """Seconds of a call."""
    machine = Machine.of(target)
    vectors = math.ceil(operator.n / blocking.lanes)
    width = machine.vectors(blocking.lanes, operator.accumulate_dtype)
    stages = _stages(operator, blocking.method)
    row = vectors * sum(_cycles(machine, blocking, stage, width) for stage in stages)
    parts = math.ceil(operator.n / blocking.block) if blocking.method == BLOCKS else 1
    row += parts * _waiting(machine, blocking, stages)
    tasks = math.ceil(operator.m / math.ceil(operator.m / blocking.tasks))
    share = machine.parallel_share(tasks) * operator.m
    cycles = share * machine.overlapped(row, _traffic(operator, machine, blocking, stages))
    return machine.seconds(cycles, regions=int(tasks > 1))


def _stages(operator: Softmax | LayerNorm, method: str) -> list[_Stage]:
    if isinstance(operator, LayerNorm):
        return [_ADD, _SQUARES, _NORMALISE]
    if method == AGAIN:
        return [_LARGEST, _ADD_POWERS, _WRITE_POWERS]
    if method == BLOCKS:
        return [_LARGEST, _STORE_POWERS, _SCALE, _LOAD]
    return [_LARGEST, _STORE_POWERS, _SCALE]


def _cycles(machine: Machine, blocking: Blocking, stage: _Stage, width: float) -> float:
    """Cycles of a vector in a stage; ``width`` is the part of a whole vector's time that it takes.

    A narrow vector takes an instruction, and has the latency, of a whole one.
    """
    together = blocking.unroll * blocking.rows
    in_registers = blocking.method == REGISTERS
    if in_registers:
        # One stage loads, the last one stores; spilled vectors are loaded again.
        stage = _Stage(stage.multiplies, 0.5, 0.5 * (stage.stores > 0), stage.exps, stage.reduces)
    core = machine.core
    multiplies = stage.multiplies + stage.exps * _EXP_MULTIPLIES
    others = stage.exps * _EXP_OTHERS
    busiest = max(
        width * multiplies / core.fmas,
        width * stage.loads / core.loads,
        width * stage.stores / core.stores,
        (multiplies + others + stage.loads + stage.stores) / core.issue,
    )
    if stage.exps:
        alive = _EXP_CONSTANTS + _EXP_ALIVE * together
        busiest += _SPILLED * max(0, alive - machine.vector_registers)
        waited = _EXP_CHAIN * core.fma_latency / (together + _LOOK_AHEAD)
    elif stage.reduces and not in_registers:
        unroll = max(blocking.unroll, PEAKS) if stage is _LARGEST else blocking.unroll
        waited = _ADDITION * core.fma_latency / (unroll * blocking.rows)
    else:
        waited = 0.0
    loop = 0.0 if in_registers else _STEP / together
    return max(busiest, waited) + loop


def _waiting(machine: Machine, blocking: Blocking, stages: list[_Stage]) -> float:
    """Cycles of a row or block that its reductions across lanes take and nothing hides."""
    reductions = sum(stage.reduces for stage in stages)
    across = reductions * math.log2(2 * blocking.lanes) * 2 * machine.core.fma_latency
    return _EXPOSED * (across + _DIVISION) / blocking.rows + 2 * _DIVISION / machine.core.issue


def _traffic(
    operator: Softmax | LayerNorm, machine: Machine, blocking: Blocking, stages: list[_Stage]
) -> float:
    """Cycles in which the caches move a row."""
    size = element_bits(operator.dtype) / 8
    row = operator.n * size
    # A core's part of all data is read and written once.
    whole = 2 * row * operator.m * machine.parallel_share(blocking.tasks)
    moved = machine.stream_cycles(2 * row, whole)
    if blocking.prefetch:
        moved *= _PREFETCHED
    if blocking.method == REGISTERS:
        return moved
    kept = 2 * row * blocking.rows
    for number, _ in enumerate(stages[1:]):
        near = blocking.method == BLOCKS and number == 0
        moved += machine.stream_cycles(row, kept * blocking.block / operator.n if near else kept)
    return moved
