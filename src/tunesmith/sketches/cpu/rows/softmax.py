"""Softmax of some rows at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tunesmith.operators import Softmax
from tunesmith.sketches.cpu.rows.across import across, together
from tunesmith.sketches.cpu.rows.blocking import (
    AGAIN,
    BLOCKS,
    PEAKS,
    REGISTERS,
    Blocking,
    blocks_of,
)
from tunesmith.sketches.cpu.rows.elements import Elements
from tunesmith.sketches.cpu.rows.rows import Rows
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.exponential import exponential
from tunesmith.sketches.tir.registers import Registers

# The smallest finite numbers, the least maximum of a block: so a block of -inf is 0 beside others.
_LOWEST = {"float32": -3.4028234663852886e38, "float64": -1.7976931348623157e308}


class SoftmaxRows(Rows):
    """The code for rows of softmax.

    exp is scaled by a power of two, and so are its sums: the scale cancels in their quotient.
    """

    def __init__(self, operator: Softmax, blocking: Blocking, buffers: Sequence[Any]) -> None:
        super().__init__(operator, blocking)
        self.exponential = exponential(self.total)
        data, output = buffers
        self.data = Elements(data, self.total)
        self.output = Elements(output, self.total)
        # Powers are stored in between with the precision of sums.
        self.scratch = None
        if blocking.method not in (REGISTERS, AGAIN) and operator.dtype != self.total:
            memory = emit.buffer("powers", (blocking.rows, operator.n), self.total)
            self.scratch = Elements(memory, self.total)

    def emit(self, rows: Sequence[Any]) -> None:
        """Emit all stages of some rows."""
        self.begin(rows)
        # Where each row begins in what holds its powers.
        self.powers = self.scratch or self.output
        places = (
            self.bases if self.scratch is None else range(0, len(rows) * self.length, self.length)
        )
        self.places = list(places)
        if self.blocking.method == REGISTERS:
            self._in_registers()
        elif self.blocking.method == BLOCKS:
            self._in_blocks()
        elif self.blocking.method == AGAIN:
            peaks = self.broadcast("peaks", self._peaks(self.sweep))
            sums = self._sums(self.sweep, peaks, stored=False)
            self._write_again(peaks, self._inverses(sums))
        else:
            peaks = self.broadcast("peaks", self._peaks(self.sweep))
            sums = self._sums(self.sweep, peaks, stored=True)
            for row, factor in enumerate(self._inverses(sums)):
                self._scale(self.sweep, row, 0, lambda value, factor=factor: value * factor)

    # -- stages ----------------------------------------------------------------------------------

    def _in_registers(self) -> None:
        rows = []
        for base in self.bases:
            starts = self.sweep.starts()
            rows.append([self.vector("x", self.data.load(base + at, self.lanes)) for at in starts])
        peaks = self.broadcast("peaks", [self._peak(values) for values in rows])
        different = [
            self.vector("below", value - peak)
            for values, peak in zip(rows, peaks, strict=True)
            for value in values
        ]
        powers = self._exponentials(different)
        count = len(self.sweep.starts())
        self._prefetch(self.sweep.starts(), self.length * len(self.bases))
        for row, base in enumerate(self.bases):
            mine = powers[row * count : (row + 1) * count]
            (factor,) = self._inverses([self.summed([*mine[:-1], self.fresh(mine[-1])])])
            for at, power in zip(self.sweep.starts(), mine, strict=True):
                self.output.store(power * factor, base + at, self.lanes)

    def _exponentials(self, values: Sequence[Any]) -> list[Any]:
        """exp of many vectors, ``unroll`` of each row at once."""
        side_by_side, made = self.blocking.unroll * len(self.bases), []
        for at in range(0, len(values), side_by_side):
            made += self.exponential.of(values[at : at + side_by_side], self.lanes, self.kept)
        return made

    def _peaks(self, sweep: Any, first: Any = 0) -> list[Any]:
        """The largest element of each row, from ``first`` on."""
        sweep = replace(sweep, unroll=max(sweep.unroll, PEAKS))
        many = sweep.side_by_side
        sofar = [Registers("peak", many, self.lanes, self.total) for _ in self.bases]
        for base, peaks in zip(self.bases, sofar, strict=True):
            for vector in range(many):
                at = base + first + vector * self.lanes
                peaks[vector] = self.data.load(at, self.lanes)

        def compare(starts: Sequence[Any], _fresh: int) -> None:
            for base, peaks in zip(self.bases, sofar, strict=True):
                for vector, start in enumerate(starts):
                    value = self.data.load(base + start, self.lanes)
                    peaks[vector] = emit.maximum(peaks[vector], value)

        sweep.each(compare, first)
        return [self._peak([peaks[vector] for vector in range(many)]) for peaks in sofar]

    def _sums(self, sweep: Any, peaks: Sequence[Any], *, stored: bool, first: Any = 0) -> list[Any]:
        """The sum of each row's powers, which are ``stored`` if later stages read them."""
        # From here to the next block, or the next rows.
        ahead = sweep.length if sweep is not self.sweep else self.length * len(self.bases)

        def terms(starts: Sequence[Any]) -> Iterator[Any]:
            self._prefetch(starts, ahead)
            powers = iter(self._powers(starts, peaks))
            for place in self.places:
                for start in starts:
                    power = next(powers)
                    if stored:
                        self.powers.store(power, place + start, self.lanes)
                    yield power

        return self.sums(sweep, first, terms)

    def _write_again(self, peaks: Sequence[Any], factors: Sequence[Any]) -> None:
        def write(starts: Sequence[Any], _fresh: int) -> None:
            powers = iter(self._powers(starts, peaks))
            for base, factor in zip(self.bases, factors, strict=True):
                for start in starts:
                    self.output.store(next(powers) * factor, base + start, self.lanes)

        self.sweep.each(write)

    def _scale(self, sweep: Any, row: int, first: Any, scaled: Any) -> None:
        """Store ``scaled`` of a row's powers."""
        place, base, lanes = self.places[row], self.bases[row], self.lanes
        # The last vector overlaps the one before, whose results may be in the same memory.
        last = first + (sweep.length - lanes)
        tail = self.vector("tail", self.powers.load(place + last, lanes)) if sweep.fresh else None

        def write(starts: Sequence[Any]) -> None:
            for start in starts:
                self.output.store(
                    scaled(self.powers.load(place + start, lanes)), base + start, lanes
                )

        sweep.each_whole(write, first)
        if tail is not None:
            self.output.store(scaled(tail), base + last, lanes)

    # -- block by block --------------------------------------------------------------------------

    def _in_blocks(self) -> None:
        """Powers relative to the largest element so far, which is stored for each block."""
        from tvm import tirx

        size, rows = self.blocking.block, len(self.bases)
        lowest = emit.constant(_LOWEST[self.total], self.total)
        count, _ = blocks_of(self.length, size, self.lanes)
        remembered = emit.buffer("peaks", (rows, count + 1), self.total)
        peaks = [Registers("so_far", 1, 1, self.total) for _ in self.bases]
        sums = [Registers("total", 1, 1, self.total) for _ in self.bases]
        largest = [Registers("largest", 1, 1, self.total) for _ in self.bases]
        for row in range(rows):
            largest[row][0] = emit.constant(-math.inf, self.total)
            peaks[row][0] = lowest
            sums[row][0] = emit.constant(0, self.total)

        def add(block: Any, length: int) -> None:
            sweep, first = self.blocking.sweep(length), block * size
            found = self._peaks(sweep, first)
            for row, value in enumerate(found):
                largest[row][0] = emit.maximum(largest[row][0], value)
            new = [
                self.kept("peak", emit.maximum(value, peaks[row][0]), 1)
                for row, value in enumerate(found)
            ]
            more = self._sums(sweep, self.broadcast("peaks", new), stored=True, first=first)
            for row in range(rows):
                (factor,) = self.exponential.of([peaks[row][0] - new[row]], 1, self.kept)
                sums[row][0] = sums[row][0] * (factor * self._unshifted(1)) + more[row]
                peaks[row][0] = new[row]
                emit.store(remembered, new[row], [row, block])

        def write(block: Any, length: int) -> None:
            sweep = self.blocking.sweep(length)
            for row in range(rows):
                below = emit.load(remembered, [row, block]) - peaks[row][0]
                (power,) = self.exponential.of([below], 1, self.kept)
                # A row of nothing but -inf is not a number.
                empty, inf = largest[row][0] < lowest, emit.constant(math.inf, self.total)
                power, total = (tirx.Select(empty, inf, one) for one in (power, sums[row][0]))
                factor = self.vector("factor", emit.broadcast(power / total, self.lanes))
                # One factor after the other: their product may be denormal.
                self._scale(
                    sweep,
                    row,
                    block * size,
                    lambda value, factor=factor: value * factor * self._unshifted(self.lanes),
                )

        self.each_block(add)
        self.each_block(write)

    # -- vectors ---------------------------------------------------------------------------------

    def _powers(self, starts: Sequence[Any], peaks: Sequence[Any]) -> list[Any]:
        """The powers of the vectors of each row that start there, all at once."""
        below = [
            self.vector("below", self.data.load(base + start, self.lanes) - peak)
            for base, peak in zip(self.bases, peaks, strict=True)
            for start in starts
        ]
        return self.exponential.of(below, self.lanes, self.kept)

    def _prefetch(self, starts: Sequence[Any], ahead: int) -> None:
        """Prefetch the lines ``ahead`` elements after the vectors that start there."""
        if not self.blocking.prefetch:
            return
        for base in self.bases:
            for start in starts[:: max(1, 64 // (self.lanes * self.data.bytes))]:
                self.data.prefetch(base + start + ahead)
                self.output.prefetch(base + start + ahead, write=True)

    def _peak(self, vectors: Sequence[Any]) -> Any:
        return across(together(vectors, emit.maximum), self.lanes, emit.maximum, self.kept)

    def _inverses(self, sums: Sequence[Any]) -> list[Any]:
        one = emit.constant(1, self.total)
        return self.broadcast("factor", [one / value for value in sums])

    def _unshifted(self, lanes: int) -> Any:
        return emit.constant(2.0**-self.exponential.shift, self.total, lanes)
