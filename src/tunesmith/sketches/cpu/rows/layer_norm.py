"""Layer normalisation of some rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.operators import LayerNorm
from tunesmith.sketches.cpu.rows.across import across, added, last_lanes, together
from tunesmith.sketches.cpu.rows.blocking import BLOCKS, REGISTERS, Blocking, Sweep, blocks_of
from tunesmith.sketches.cpu.rows.elements import Elements
from tunesmith.sketches.tir import emit


class LayerNormRows:
    """The code for rows of layer normalisation.

    The variance is the mean of squared differences from the mean, as the operator says; blocks have
    means of their own, and are put together by the formula of Chan, Golub and LeVeque ("Updating
    formulae and a pairwise algorithm for computing sample variances", 1979).
    """

    def __init__(self, operator: LayerNorm, blocking: Blocking, buffers: Sequence[Any]) -> None:
        self.blocking = blocking
        self.lanes = blocking.lanes
        self.length = operator.n
        self.eps = operator.eps
        self.total = operator.accumulate_dtype
        self.sweep = blocking.sweep(operator.n)
        self.data, self.gamma, self.beta, self.output = (
            Elements(buffer, self.total) for buffer in buffers
        )

    def emit(self, rows: Sequence[Any]) -> None:
        """Emit all stages of some rows."""
        self.kept = emit.Kept(self.total, self.lanes)
        self.bases = [emit.bind("base", row * self.length) for row in rows]
        if self.blocking.method == REGISTERS:
            self._in_registers()
            return
        if self.blocking.method == BLOCKS:
            means, squares = self._statistics_of_blocks()
        else:
            means, squares = self._statistics(self.sweep)
        means, factors = self._spread(means), self._factors(squares)

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
            row = [self._kept("x", self.data.load(base + at, self.lanes)) for at in starts]
            summed = across(
                together([*row[:-1], self._fresh(row[-1])], added), self.lanes, added, self.kept
            )
            (mean,) = self._spread([self._divided(summed, self.length)])
            row = [self._kept("below", value - mean) for value in row]
            fresh = [*row[:-1], self._fresh(row[-1])]
            squared = together([one * one for one in fresh], added)
            squares.append(across(squared, self.lanes, added, self.kept))
            differences.append(row)
        factors = self._factors(squares)
        for number, start in enumerate(starts):
            self._write(start, [row[number] for row in differences], factors)

    def _statistics(self, sweep: Sweep, first: Any = 0) -> tuple[list[Any], list[Any]]:
        """The mean of each row's elements from ``first`` on, and the sum of the squares of their
        differences from it."""
        sums = self._sums(sweep, first, lambda _row, value: value)
        means = [self.kept("mean", self._divided(one, sweep.length), 1) for one in sums]
        wide = self._spread(means)

        def squared(row: int, value: Any) -> Any:
            below = self._kept("below", value - wide[row])
            return below * below

        return means, self._sums(sweep, first, squared)

    def _sums(self, sweep: Sweep, first: Any, term: Callable[[int, Any], Any]) -> list[Any]:
        """The sum of what ``term`` makes of each row's vectors."""
        many = sweep.side_by_side
        sofar = [emit.Registers("sum", many, self.lanes, self.total) for _ in self.bases]
        for sums in sofar:
            for vector in range(many):
                sums[vector] = emit.constant(0, self.total, self.lanes)

        def add(starts: Sequence[Any], fresh: int) -> None:
            for row, (base, sums) in enumerate(zip(self.bases, sofar, strict=True)):
                for vector, start in enumerate(starts):
                    value = self._kept("x", self.data.load(base + start, self.lanes))
                    new = term(row, value)
                    sums[vector] = sums[vector] + last_lanes(new, fresh, self.lanes, self.total)

        sweep.each(add, first)
        return [
            across(together([sums[v] for v in range(many)], added), self.lanes, added, self.kept)
            for sums in sofar
        ]

    def _statistics_of_blocks(self) -> tuple[list[Any], list[Any]]:
        size, rows = self.blocking.block, range(len(self.bases))
        count, rest = blocks_of(self.length, size, self.lanes)
        means = [emit.Registers("means", 1, 1, self.total) for _ in rows]
        squares = [emit.Registers("squares", 1, 1, self.total) for _ in rows]
        for row in rows:
            means[row][0] = emit.constant(0, self.total)
            squares[row][0] = emit.constant(0, self.total)

        def add(block: Any, length: int) -> None:
            found = self._statistics(self.blocking.sweep(length), block * size)
            # The part of all elements so far that is in this block.
            before, new = block * size, emit.constant(length, self.total)
            share = self.kept("share", new / self._number(before + length), 1)
            for row, (mean, square) in enumerate(zip(*found, strict=True)):
                apart = self.kept("apart", mean - means[row][0], 1)
                moved = apart * apart * (share * self._number(before))
                squares[row][0] = squares[row][0] + square + moved
                means[row][0] = means[row][0] + apart * share

        with emit.serial(count, "block") as block:
            add(block, size)
        if rest:
            add(count, rest)
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
        return self._spread([one / deviation for deviation in deviations])

    def _spread(self, values: Sequence[Any]) -> list[Any]:
        return [self._kept("wide", emit.broadcast(value, self.lanes)) for value in values]

    def _kept(self, name: str, vector: Any) -> Any:
        return self.kept(name, vector, self.lanes)

    def _fresh(self, vector: Any) -> Any:
        return last_lanes(vector, self.sweep.fresh or self.lanes, self.lanes, self.total)

    def _divided(self, value: Any, count: int) -> Any:
        return value / emit.constant(count, self.total)

    def _number(self, value: Any) -> Any:
        """A whole number as one to compute with."""
        if isinstance(value, int):
            return emit.constant(value, self.total)
        return value.astype(self.total)
