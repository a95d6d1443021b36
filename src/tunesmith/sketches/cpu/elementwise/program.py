"""The program of a chain: each task streams through a part of the tensors, in vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import Elementwise, Operand, TvmArithmetic
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.cpu.rows.elements import Elements
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Kept
from tunesmith.sketches.tir.weights import program_of


@dataclass(frozen=True)
class Blocking:
    """The choices of a program: vectors of ``lanes`` elements, ``unroll`` of them a step, and the
    work shared among ``tasks`` of one parallel loop."""

    lanes: int
    unroll: int
    tasks: int


@dataclass(frozen=True)
class Rows:
    """The elements of a chain as ``count`` rows of ``length``, one after the other.

    Operands per channel have one number for all of a row, or if ``along`` one for each of its
    elements. Without any, all elements are one row.
    """

    count: int
    length: int
    along: bool = False

    @staticmethod
    def of(operator: Elementwise) -> Rows:
        kinds = {kind for _, kind in operator.epilogue.operands}
        if Operand.CHANNEL not in kinds:
            return Rows(1, operator.result.elements)
        if operator.inner == 1:
            return Rows(operator.n, operator.c, along=True)
        return Rows(operator.n * operator.c, operator.inner)


@dataclass(frozen=True)
class Sharing:
    """What each of ``tasks`` does: ``rows`` whole rows, or a band of ``length`` elements of one
    row. Of tasks that do not divide the rows or a row the last one begins early enough to have as
    much as the others."""

    tasks: int
    rows: int
    length: int
    bands: int

    @staticmethod
    def of(rows: Rows, blocking: Blocking) -> Sharing:
        if blocking.tasks <= rows.count:
            share = emit.tile_count(rows.count, blocking.tasks)
            return Sharing(emit.tile_count(rows.count, share), share, rows.length, 1)
        step = blocking.lanes * blocking.unroll
        wanted = emit.tile_count(rows.length, emit.tile_count(blocking.tasks, rows.count))
        band = min(rows.length, emit.tile_count(wanted, step) * step)
        bands = emit.tile_count(rows.length, band)
        return Sharing(rows.count * bands, 1, band, bands)


def elementwise_program(operator: Elementwise, blocking: Blocking) -> Any:
    """The module of a blocking, whose ``main`` takes the operator's arguments and its result."""
    rows = Rows.of(operator)
    sharing = Sharing.of(rows, blocking)

    def task(number: Any, buffers: Sequence[Any]) -> None:
        chain = _Chain(operator, rows, blocking.lanes, buffers)
        sweep = Sweep(sharing.length, blocking.lanes, blocking.unroll)
        if sharing.bands > 1:
            row, band = emit.bind("row", number // sharing.bands), number % sharing.bands
            start = emit.bind("start", emit.tile_start(band, sharing.length, rows.length))
            sweep.each(chain.of_row(row), start)
            return
        first = emit.tile_start(number, sharing.rows, rows.count)
        with emit.serial(sharing.rows, "next") as further:
            sweep.each(chain.of_row(emit.bind("row", first + further)))

    def main(buffers: Sequence[Any]) -> None:
        if sharing.tasks == 1:
            task(0, buffers)
            return
        with emit.parallel(sharing.tasks, "task") as number:
            task(number, buffers)

    return program_of(operator, main)


class _Chain:
    """The code that computes vectors of the result."""

    def __init__(
        self, operator: Elementwise, rows: Rows, lanes: int, buffers: Sequence[Any]
    ) -> None:
        self._epilogue = operator.epilogue
        self._rows, self._lanes, self._channels = rows, lanes, operator.c
        total = operator.accumulate_dtype
        self._rounds_bits = operator.dtype == "bfloat16"
        self._kept = Kept(total, lanes)
        self._arithmetic = TvmArithmetic(emit.vector_type(total, lanes))
        self._data, *self._operands, self._result = (Elements(each, total) for each in buffers)

    def of_row(self, row: Any) -> Callable[[Sequence[Any], int], None]:
        """Emits what all vectors of a row need; returns what emits vectors, given their starts."""
        base = emit.bind("base", row * self._rows.length)
        of_row = [None if self._rows.along else self._of_row(row, kind) for kind in self._kinds]

        def vectors(starts: Sequence[Any], _fresh: int) -> None:
            for start in starts:
                self._vector(base, start, of_row)

        return vectors

    @property
    def _kinds(self) -> list[tuple[Elements, Operand]]:
        kinds = (kind for _, kind in self._epilogue.operands)
        return list(zip(self._operands, kinds, strict=True))

    def _of_row(self, row: Any, operand: tuple[Elements, Operand]) -> Any | None:
        """The number of a row's channel in all lanes; None for an operand of elements."""
        elements, kind = operand
        if kind is not Operand.CHANNEL:
            return None
        value = emit.broadcast(elements.load(row % self._channels, 1), self._lanes)
        return self._kept("of_channel", value, self._lanes)

    def _vector(self, base: Any, start: Any, of_row: Sequence[Any | None]) -> None:
        at, lanes = emit.bind("at", base + start), self._lanes

        def operands() -> Iterator[Any]:
            for (elements, kind), known in zip(self._kinds, of_row, strict=True):
                if known is not None:
                    yield known
                else:
                    place = start if kind is Operand.CHANNEL else at
                    yield elements.load(place, lanes)

        value = self._epilogue.apply(
            self._arithmetic,
            self._data.load(at, lanes),
            operands(),
            keep=lambda value: self._kept("value", value, lanes),
        )
        if self._rounds_bits:
            # The bits of exp or tanh would be bits of a `Let`, which TVM's analyzer binds twice.
            value = self._kept("value", value, lanes)
        self._result.store(value, at, lanes)
