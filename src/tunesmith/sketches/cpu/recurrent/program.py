"""The program of a recurrent cell: each step is a product whose tiles have all gates of some units.

The columns of the product are the gates of the units, a vector of units after the other: first all
gates of the first vector. So a register tile has what the new states of its units are made of.
Where vectors do not divide the units, the last one overlaps the one before: a few units are
computed twice, with the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import RecurrentOperator, TvmArithmetic
from tunesmith.sketches.cpu.gemm import ALONG_DEPTH, Operand, Plan, Put, Side, multiply, pack
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Kept
from tunesmith.sketches.tir.weights import program_with_weights


def recurrent_program(operator: RecurrentOperator, plan: Plan) -> Any:
    """The module: ``main``, and ``prepare`` where the weights are constant."""
    gates = Gates(operator, plan.blocking.lanes)

    def prepare(weight: Any, panels: Any) -> None:
        pack(plan, Side.COLUMNS, lambda _: gates.weights(weight), panels)

    def main(buffers: Sequence[Any]) -> None:
        _Steps(operator, plan, gates, buffers).emit()

    return program_with_weights(operator, plan.panels(Side.COLUMNS), prepare, main)


@dataclass(frozen=True)
class Gates:
    """The order of a product's columns: vectors of ``lanes`` units, each with all their gates."""

    operator: RecurrentOperator
    lanes: int

    @property
    def width(self) -> int:
        """The columns of a vector of units."""
        return self.operator.gate_count * self.lanes

    @property
    def columns(self) -> int:
        """All columns."""
        return emit.tile_count(self.operator.units, self.lanes) * self.width

    def first_unit(self, column: Any) -> Any:
        """The first unit of the vector that a column belongs to."""
        return emit.tile_start(column // self.width, self.lanes, self.operator.units)

    def weights(self, weight: Any) -> Operand:
        """The right operand of the product, given the buffer of the plain weights."""

        def row(column: Any) -> Any:
            gate = column // self.lanes % self.operator.gate_count
            return gate * self.operator.units + self.first_unit(column) + column % self.lanes

        return Operand(
            self.columns,
            self.operator.units,
            lambda depth, column: emit.load(weight, [row(column), depth]),
            lambda depth, column, lanes: emit.load(weight, [row(column), depth], lanes),
            ALONG_DEPTH,
        )


@dataclass(frozen=True)
class _Step:
    """One step: its number, and where the states before and after it are.

    That is a buffer of all states, and a place in it; None stands for the arguments, and for no
    copy beside the result.
    """

    number: Any
    before: tuple[Any, Any] | None = None
    after: tuple[Any, Any] | None = None


@dataclass
class _Steps:
    """The code of all steps, given the buffers of the arguments and the result.

    A single step reads the states where the caller has them. Several steps have two copies of all
    states: they read one, and write the other one.
    """

    operator: RecurrentOperator
    plan: Plan
    gates: Gates
    buffers: Sequence[Any]

    def __post_init__(self) -> None:
        self.hidden, self.panels, gates, last, output = self.buffers
        self.added, self.last, self.output = (emit.flat(each) for each in (gates, last, output))
        self.lanes = self.plan.blocking.lanes
        self.total = emit.vector_type(self.operator.accumulate_dtype, self.lanes)
        self.size = self.operator.b * self.operator.units

    def emit(self) -> None:
        operator = self.operator
        if operator.steps == 1:
            self._emit_step(_Step(0), self.hidden, [])
            return
        shape = (2, operator.state_count, *operator.state_shape)
        states = emit.buffer("states", shape, operator.dtype)
        flat, all_states = emit.flat(states), operator.state_count * self.size
        self._copy(emit.flat(self.hidden), flat, 0)
        if operator.state_count > 1:
            self._copy(self.last, flat, self.size)
        with emit.serial(operator.steps, "step") as step:
            now = emit.bind("now", step % 2)
            before = emit.bind("before", now * all_states)
            after = emit.bind("after", (1 - now) * all_states)
            number = operator.steps - 1 - step if operator.reverse else step
            self._emit_step(_Step(number, (flat, before), (flat, after)), states, [now, 0])

    def _copy(self, source: Any, target: Any, first: int) -> None:
        """Copy a whole state to a place of another buffer."""

        def move(starts: Sequence[Any], _fresh: int) -> None:
            for start in starts:
                value = emit.load(source, [start], self.lanes)
                emit.store(target, value, [first + start], self.lanes)

        Sweep(self.size, self.lanes, 1).each(move)

    def _emit_step(self, step: _Step, hidden: Any, prefix: Sequence[Any]) -> None:
        """A step whose hidden states before it are in a buffer, after the indices ``prefix``."""
        operator = self.operator
        left = Operand.matrix(hidden, prefix, ALONG_DEPTH, operator.b, operator.units)
        multiply(
            self.plan,
            lambda _: left,
            lambda _: self.gates.weights(self.panels),
            self._put(step),
            right_panels=self.panels,
        )

    def _put(self, step: _Step) -> Put:
        """The write of a vector of sums: with that of the last gate, units have all they need."""
        sums: list[Any] = []

        def put(_batch: Any, row: Any, column: Any, vector: Any, _lanes: int) -> None:
            sums.append(vector)
            if len(sums) == self.operator.gate_count:
                self._finish(step, row, self.gates.first_unit(column), list(sums))
                sums.clear()

        return put

    def _finish(self, step: _Step, row: Any, first: Any, sums: Sequence[Any]) -> None:
        """The new states of a vector of units, from ``first`` on."""
        operator, lanes, size = self.operator, self.lanes, self.size
        unit = emit.bind("unit", first)
        here = emit.bind("here", row * operator.units + unit)
        gates = emit.bind("gates", (step.number * operator.b + row) * operator.gate_rows + unit)
        kept = Kept(operator.accumulate_dtype, lanes)
        states = [self._state(step, number, here) for number in range(operator.state_count)]
        shared = len(operator.arguments[-1].shape) == 1
        found = operator.advanced(
            TvmArithmetic(self.total),
            sums,
            [
                self._loaded(self.added, gates + gate * operator.units)
                for gate in range(operator.gate_count)
            ],
            operator.further_of(states, self._loaded(self.last, unit if shared else here)),
            lambda value: kept("kept", value, lanes),
        )
        for number, state in enumerate(found):
            value = state.astype(emit.vector_type(operator.dtype, lanes))
            # Each step writes its cell state to the same place: that of the last one stays.
            part = step.number if number == 0 else operator.steps + number - 1
            emit.store(self.output, value, [part * size + here], lanes)
            if step.after is not None:
                buffer, place = step.after
                emit.store(buffer, value, [place + number * size + here], lanes)

    def _state(self, step: _Step, number: int, here: Any) -> Any:
        if step.before is not None:
            buffer, place = step.before
            return self._loaded(buffer, place + number * self.size + here)
        return self._loaded(emit.flat(self.hidden) if number == 0 else self.last, here)

    def _loaded(self, buffer: Any, at: Any) -> Any:
        """A vector in the type of the sums."""
        return emit.load(buffer, [at], self.lanes).astype(self.total)
