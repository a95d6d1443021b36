"""Layer normalisation of some rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tunesmith.operators import LayerNorm
from tunesmith.sketches.cpu.rows.blocking import BLOCKS, REGISTERS, Blocking, Sweep
from tunesmith.sketches.cpu.rows.elements import Elements
from tunesmith.sketches.cpu.rows.rows import Rows
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Registers


class LayerNormRows(Rows):
    """The code for rows of layer normalisation.

    The variance is the mean of squared differences from the mean, as the operator says. Blocks have
    means of their own, which are combined by the formula of Chan, Golub and LeVeque ("Updating
    formulae and a pairwise algorithm for computing sample variances", 1979).
    """

    def __init__(self, operator: LayerNorm, blocking: Blocking, buffers: Sequence[Any]) -> None:
        super().__init__(operator, blocking)
        self.eps = operator.eps
        self.data, self.gamma, self.beta, self.output = (
            Elements(buffer, self.total) for buffer in buffers
        )

    def emit(self, rows: Sequence[Any]) -> None:
        """Emit all stages of some rows."""
        self.begin(rows)
        if self.blocking.method == REGISTERS:
            self._in_registers()
            return
        if self.blocking.method == BLOCKS:
            means, squares = self._statistics_of_blocks()
        else:
            means, squares = self._statistics(self.sweep)
        means, factors = self.broadcast("wide", means), self._factors(squares)

        def write(starts: Sequence[Any], _fresh: int) -> None:
            for start in starts:
                values = [self.data.load(base + start, self.lanes) for base in self.bases]
                below = [value - mean for value, mean in zip(values, means, strict=True)]
                self._write(start, below, factors)

        self.sweep.each(write)

    # -- stages ----------------------------------------------------------------------------------

    def _in_registers(self) -> None:
        starts, differences, squares = self.sweep.starts(), [], []
        for base in self.bases:
            row = [self.vector("x", self.data.load(base + at, self.lanes)) for at in starts]
            summed = self.summed([*row[:-1], self.fresh(row[-1])])
            (mean,) = self.broadcast("wide", [self._divided(summed, self.length)])
            row = [self.vector("below", value - mean) for value in row]
            fresh = [*row[:-1], self.fresh(row[-1])]
            squares.append(self.summed([one * one for one in fresh]))
            differences.append(row)
        factors = self._factors(squares)
        for number, start in enumerate(starts):
            self._write(start, [row[number] for row in differences], factors)

    def _statistics(self, sweep: Sweep, first: Any = 0) -> tuple[list[Any], list[Any]]:
        """The mean of each row's elements from ``first`` on, and the sum of the squares of their
        differences from it."""
        sums = self._sums(sweep, first, lambda _row, value: value)
        means = [self.kept("mean", self._divided(one, sweep.length), 1) for one in sums]
        wide = self.broadcast("wide", means)

        def squared(row: int, value: Any) -> Any:
            below = self.vector("below", value - wide[row])
            return below * below

        return means, self._sums(sweep, first, squared)

    def _sums(self, sweep: Sweep, first: Any, term: Callable[[int, Any], Any]) -> list[Any]:
        """The sum of ``term(row, vector)`` over each row's vectors."""

        def terms(starts: Sequence[Any]) -> Iterator[Any]:
            for row, base in enumerate(self.bases):
                for start in starts:
                    yield term(row, self.vector("x", self.data.load(base + start, self.lanes)))

        return self.sums(sweep, first, terms)

    def _statistics_of_blocks(self) -> tuple[list[Any], list[Any]]:
        size, rows = self.blocking.block, range(len(self.bases))
        means = [Registers("means", 1, 1, self.total) for _ in rows]
        squares = [Registers("squares", 1, 1, self.total) for _ in rows]
        for row in rows:
            means[row][0] = emit.constant(0, self.total)
            squares[row][0] = emit.constant(0, self.total)

        def add(block: Any, length: int) -> None:
            found = self._statistics(self.blocking.sweep(length), block * size)
            # This block's share of all elements so far.
            before, new = block * size, emit.constant(length, self.total)
            share = self.kept("share", new / self._number(before + length), 1)
            for row, (mean, square) in enumerate(zip(*found, strict=True)):
                apart = self.kept("apart", mean - means[row][0], 1)
                moved = apart * apart * (share * self._number(before))
                squares[row][0] = squares[row][0] + square + moved
                means[row][0] = means[row][0] + apart * share

        self.each_block(add)
        return [one[0] for one in means], [one[0] for one in squares]

    # -- vectors ---------------------------------------------------------------------------------

    def _write(self, start: Any, differences: Sequence[Any], factors: Sequence[Any]) -> None:
        """The results of a vector of each row, all with the same scale and shift."""
        gamma = emit.bind("gamma", self.gamma.load(start, self.lanes))
        beta = emit.bind("beta", self.beta.load(start, self.lanes))
        for base, below, factor in zip(self.bases, differences, factors, strict=True):
            self.output.store(below * factor * gamma + beta, base + start, self.lanes)

    def _factors(self, squares: Sequence[Any]) -> list[Any]:
        """One over the deviation of each row, in all lanes."""
        from tvm import tirx

        one, eps = (emit.constant(value, self.total) for value in (1, self.eps))
        deviations = [tirx.sqrt(self._divided(each, self.length) + eps) for each in squares]
        return self.broadcast("wide", [one / deviation for deviation in deviations])

    def _divided(self, value: Any, count: int) -> Any:
        return value / emit.constant(count, self.total)

    def _number(self, value: Any) -> Any:
        """A whole number as one to compute with."""
        if isinstance(value, int):
            return emit.constant(value, self.total)
        return value.astype(self.total)
