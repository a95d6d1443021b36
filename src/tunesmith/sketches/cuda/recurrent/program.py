"""The kernels of a recurrent cell: one a step, whose blocks have some units of some sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import Argument, RecurrentOperator, TvmArithmetic, element_bits
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.written import register
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_with_weights

# Threads of a block that transposes weights.
_THREADS = 256


@dataclass(frozen=True)
class Tiling:
    """The choices of a program.

    A block has ``units`` of ``rows`` sequences. Each thread sums, for one unit and all these
    sequences, every ``slices``-th product of all gates, ``unroll`` of them a step; the threads of a
    unit then add up what they have in shared memory.
    """

    units: int
    rows: int
    slices: int
    unroll: int

    @property
    def threads(self) -> int:
        return self.units * self.slices

    def blocks(self, operator: RecurrentOperator) -> int:
        """The blocks of a step."""
        tiles = emit.tile_count(operator.units, self.units)
        return tiles * emit.tile_count(operator.b, self.rows)

    def sums(self, operator: RecurrentOperator) -> int:
        """The sums of a thread."""
        return self.rows * operator.gate_count

    def shared_bytes(self, operator: RecurrentOperator) -> int:
        """The shared memory of a block."""
        size = element_bits(operator.accumulate_dtype) // 8
        return self.threads * self.sums(operator) * size


def recurrent_program(operator: RecurrentOperator, tiling: Tiling) -> Any:
    """The module: ``main``, and ``prepare`` where the weights are constant."""
    columns = Argument("columns", (operator.units, operator.gate_rows), operator.dtype)

    def main(buffers: Sequence[Any]) -> None:
        for number in range(operator.steps):
            _Step(operator, tiling, buffers, number).emit()

    return program_with_weights(operator, columns, _transpose, main)


def _transpose(weight: Any, columns: Any) -> None:
    """The weights of each state side by side: neighbouring threads read neighbouring units."""
    depth, width = (int(extent) for extent in columns.shape)
    elements = depth * width
    source, target = emit.flat(weight), emit.flat(columns)
    with (
        device.launch("blockIdx.x", emit.tile_count(elements, _THREADS)) as block,
        device.launch("threadIdx.x", _THREADS) as thread,
    ):
        at = emit.bind("at", block * _THREADS + thread)
        with emit.when(at < elements if elements % _THREADS else True):
            value = emit.load(source, [at % width * depth + at // width])
            emit.store(target, value, [at])


@dataclass
class _Step:
    """The kernel of one step, the ``number``-th that is computed.

    It reads the hidden states that the step before has written to the result. The cell state is
    where the result has that of the end: no other thread reads it.
    """

    operator: RecurrentOperator
    tiling: Tiling
    buffers: Sequence[Any]
    number: int

    def __post_init__(self) -> None:
        self.step = self.operator.order[self.number]
        self.size = self.operator.b * self.operator.units
        self.total = self.operator.accumulate_dtype
        hidden, columns, gates, last, output = (emit.flat(each) for each in self.buffers)
        self.columns, self.gates, self.last, self.output = columns, gates, last, output
        self.hidden, self.begin = hidden, 0
        if self.number > 0:
            self.hidden, self.begin = output, self.operator.order[self.number - 1] * self.size

    def emit(self) -> None:
        operator, tiling = self.operator, self.tiling
        with (
            device.launch("blockIdx.x", tiling.blocks(operator)) as block,
            device.launch("threadIdx.x", tiling.threads) as thread,
        ):
            tiles = emit.tile_count(operator.units, tiling.units)
            first_unit = emit.bind("first_unit", block % tiles * tiling.units)
            first_row = emit.bind("first_row", block // tiles * tiling.rows)
            count = tiling.sums(operator)
            shared = emit.buffer("parts", (tiling.threads * count,), self.total, "shared")
            sums = self._summed(thread, first_unit, first_row)
            for place in range(count):
                emit.store(shared, sums[place], [place * tiling.threads + thread])
            device.block_barrier()
            items = tiling.rows * tiling.units
            for begin in range(0, items, tiling.threads):
                item = emit.bind("item", begin + thread)
                with emit.when(item < items if begin + tiling.threads > items else True):
                    self._finish(shared, item, first_unit, first_row)

    def _summed(self, thread: Any, first_unit: Any, first_row: Any) -> Any:
        """A thread's sums, in registers."""
        operator, tiling = self.operator, self.tiling
        count, depth, rows = tiling.sums(operator), operator.units, range(tiling.rows)
        sums = emit.buffer("sums", (count,), self.total, scope="local")
        for place in range(count):
            emit.store(sums, emit.constant(0, self.total), [place])
        unit = _inside(first_unit + thread % tiling.units, operator.units, tiling.units)
        unit = emit.bind("unit", unit)
        slice_ = emit.bind("slice", thread // tiling.units)
        starts = [
            _inside(first_row + row, operator.b, tiling.rows) * depth + self.begin for row in rows
        ]
        places = [emit.bind("row", start) for start in starts]
        together = tiling.slices * tiling.unroll
        with emit.serial(emit.tile_count(depth, together), "step") as step:
            for inner in range(tiling.unroll):
                k = emit.bind("k", (step * tiling.unroll + inner) * tiling.slices + slice_)
                inside = None if depth % together == 0 else k < depth
                at = emit.bind("at", _inside(k, depth, together))
                weights = [
                    self._wide(self.columns, at * operator.gate_rows + gate * depth + unit)
                    for gate in range(operator.gate_count)
                ]
                weights = [register("weight", value) for value in weights]
                for row in rows:
                    state = self._wide(self.hidden, places[row] + at)
                    if inside is not None:
                        state = emit.if_then_else(inside, state, emit.constant(0, self.total))
                    state = register("state", state)
                    for gate, weight in enumerate(weights):
                        place = row * operator.gate_count + gate
                        emit.store(sums, sums[place] + state * weight, [place])
        return sums

    def _finish(self, shared: Any, item: Any, first_unit: Any, first_row: Any) -> None:
        """The new states of one unit of one sequence, given the sums of its threads."""
        from tvm import tirx

        operator, tiling = self.operator, self.tiling
        column, row = item % tiling.units, item // tiling.units
        unit = emit.bind("unit", first_unit + column)
        sequence = emit.bind("sequence", first_row + row)
        within = tirx.all(unit < operator.units, sequence < operator.b)
        with emit.when(within):
            here = emit.bind("here", sequence * operator.units + unit)

            def product(gate: int) -> Any:
                base = (row * operator.gate_count + gate) * tiling.threads + column
                value = shared[base]
                for part in range(1, tiling.slices):
                    value = value + shared[base + part * tiling.units]
                return register("product", value)

            row_of_gates = (self.step * operator.b + sequence) * operator.gate_rows + unit
            shared_last = len(operator.arguments[-1].shape) == 1
            states = [self._state(number, here) for number in range(operator.state_count)]
            found = operator.advanced(
                TvmArithmetic(self.total),
                [product(gate) for gate in range(operator.gate_count)],
                [
                    self._wide(self.gates, row_of_gates + gate * operator.units)
                    for gate in range(operator.gate_count)
                ],
                operator.further_of(states, self._wide(self.last, unit if shared_last else here)),
                lambda value: register("kept", value),
            )
            for number, state in enumerate(found):
                part = self.step if number == 0 else operator.steps + number - 1
                emit.store(self.output, state.astype(operator.dtype), [part * self.size + here])

    def _state(self, number: int, here: Any) -> Any:
        """A state before the step."""
        if number == 0:
            return self._wide(self.hidden, self.begin + here)
        if self.number == 0:
            return self._wide(self.last, here)
        return self._wide(self.output, (self.operator.steps + number - 1) * self.size + here)

    def _wide(self, buffer: Any, at: Any) -> Any:
        """An element in the type of the sums."""
        return emit.load(buffer, [at]).astype(self.total)


def _inside(index: Any, size: int, tile: int) -> Any:
    """An index of an element that is there: tiles need not divide the size."""
    return index if size % tile == 0 else emit.minimum(index, size - 1)
