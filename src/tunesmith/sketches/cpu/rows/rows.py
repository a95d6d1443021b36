"""The code for some rows at once: what softmax and layer normalisation have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tunesmith.operators import LayerNorm, Softmax
from tunesmith.sketches.cpu.rows.across import across, added, last_lanes, together
from tunesmith.sketches.cpu.rows.blocking import Blocking, Sweep, blocks_of
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Kept, Registers


class Rows:
    """Sums and vectors of rows, of which each begins at one of ``bases`` in the tensors."""

    def __init__(self, operator: Softmax | LayerNorm, blocking: Blocking) -> None:
        self.blocking = blocking
        self.lanes = blocking.lanes
        self.length = operator.n
        self.total = operator.accumulate_dtype
        self.sweep = blocking.sweep(operator.n)

    def begin(self, rows: Sequence[Any]) -> None:
        """Emit what all stages of some rows need."""
        self.kept = Kept(self.total, self.lanes)
        self.bases = [emit.bind("base", row * self.length) for row in rows]

    def sums(
        self, sweep: Sweep, first: Any, terms: Callable[[Sequence[Any]], Iterator[Any]]
    ) -> list[Any]:
        """The sum of each row's terms from element ``first`` on.

        ``terms(starts)`` emits a vector for each row and each start of a step, row by row.
        """
        many = sweep.side_by_side
        sofar = [Registers("sum", many, self.lanes, self.total) for _ in self.bases]
        for sums in sofar:
            for vector in range(many):
                sums[vector] = emit.constant(0, self.total, self.lanes)

        def add(starts: Sequence[Any], fresh: int) -> None:
            made = terms(starts)
            for sums in sofar:
                for vector in range(len(starts)):
                    new = last_lanes(next(made), fresh, self.lanes, self.total)
                    sums[vector] = sums[vector] + new

        sweep.each(add, first)
        return [self.summed([sums[vector] for vector in range(many)]) for sums in sofar]

    def summed(self, vectors: Sequence[Any]) -> Any:
        """The sum of all lanes of some vectors."""
        return across(together(vectors, added), self.lanes, added, self.kept)

    def each_block(self, body: Callable[[Any, int], None]) -> None:
        """Emit ``body`` for the number and the length of each block of a row."""
        count, rest = blocks_of(self.length, self.blocking.block, self.lanes)
        with emit.serial(count, "block") as block:
            body(block, self.blocking.block)
        if rest:
            body(count, rest)

    def broadcast(self, name: str, values: Sequence[Any]) -> list[Any]:
        """Each value in all lanes of a vector."""
        return [self.vector(name, emit.broadcast(value, self.lanes)) for value in values]

    def vector(self, name: str, value: Any) -> Any:
        """A variable for a whole vector."""
        return self.kept(name, value, self.lanes)

    def fresh(self, vector: Any) -> Any:
        """The last vector of a row, with 0 in the lanes that overlap the one before."""
        return last_lanes(vector, self.sweep.fresh or self.lanes, self.lanes, self.total)
