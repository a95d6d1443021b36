"""The choices of a program along rows, and a row as vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.tir import emit

# How the stages of a row follow each other. REGISTERS: the row is loaded once and stays there;
# PASSES: each stage loads the row; BLOCKS: the statistics of blocks are combined, so that a row
# which does not fit into a cache is read once for all of them; AGAIN: like PASSES, but nothing is
# stored in between and exp is computed twice.
REGISTERS, PASSES, BLOCKS, AGAIN = "registers", "passes", "blocks", "again"

# The least number of partial maxima of a row: they take few registers, and hide the latency of
# comparisons.
PEAKS = 4


@dataclass(frozen=True)
class Blocking:
    """The choices of a program.

    The rows are shared among ``tasks`` of one parallel loop. ``rows`` of them are computed at once,
    in vectors of ``lanes`` elements, ``unroll`` of each row a step. ``block`` is the number of
    elements of a block. Softmax with ``prefetch`` prefetches the next rows (or block) with exp.
    """

    lanes: int
    unroll: int
    rows: int
    tasks: int
    method: str
    block: int = 0
    prefetch: bool = False

    def sweep(self, length: int) -> Sweep:
        """The vectors of ``length`` elements."""
        return Sweep(length, self.lanes, self.unroll)


@dataclass(frozen=True)
class Sweep:
    """``length`` elements, not fewer than ``lanes``, as vectors.

    The last vector overlaps the one before where lanes do not divide the length: ``fresh`` of its
    lanes, the last ones, are new.
    """

    length: int
    lanes: int
    unroll: int

    @property
    def whole(self) -> int:
        """How many vectors there are without one that overlaps."""
        return self.length // self.lanes

    @property
    def fresh(self) -> int:
        """How many lanes of the last vector are not in the one before; 0: no vector overlaps."""
        return self.length % self.lanes

    @property
    def side_by_side(self) -> int:
        """How many vectors a step has at most."""
        return min(self.unroll, self.whole)

    def starts(self) -> list[int]:
        """Where each vector starts, the one that overlaps too."""
        tail = [self.length - self.lanes] if self.fresh else []
        return [vector * self.lanes for vector in range(self.whole)] + tail

    def each_whole(self, body: Callable[[Sequence[Any]], None], first: Any = 0) -> None:
        """Emit ``body`` for the starts of the vectors of a step, without the one that overlaps."""
        step = self.side_by_side * self.lanes
        steps = self.length // step
        if steps:
            with emit.serial(steps, "step") as number:
                begin = emit.bind("begin", first + number * step)
                body([begin + one for one in range(0, step, self.lanes)])
        rest = range(steps * step, self.whole * self.lanes, self.lanes)
        if rest:
            body([first + start for start in rest])

    def each(self, body: Callable[[Sequence[Any], int], None], first: Any = 0) -> None:
        """The same with the vector that overlaps, and how many lanes of a step's are fresh."""
        self.each_whole(lambda starts: body(starts, self.lanes), first)
        if self.fresh:
            body([first + (self.length - self.lanes)], self.fresh)


def blocks_of(length: int, block: int, lanes: int) -> tuple[int, int]:
    """The number of whole blocks, and the length of a last one after them: 0, or at least that of a
    vector."""
    count, rest = divmod(length, block)
    if 0 < rest < lanes:
        return count - 1, rest + block
    return count, rest
