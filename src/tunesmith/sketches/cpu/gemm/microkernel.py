"""The microkernel: a register tile of sums, over a k tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.gemm.blocking import Blocking
from tunesmith.sketches.cpu.gemm.precision import Precision
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Registers


@dataclass(frozen=True)
class Reader:
    """What a register tile reads of an operand.

    ``word(step, place)`` is a word of the left operand's row ``place``, or a vector of words of the
    right one from column ``place`` on; ``ahead(step, place)`` prefetches it.
    """

    word: Callable[[Any, int], Any]
    ahead: Callable[[Any, int], None] | None = None


class RegisterTile:
    """The sums of a register tile. It is made outside of the loops in which it is used."""

    def __init__(self, blocking: Blocking, precision: Precision) -> None:
        self._blocking = blocking
        self._precision = precision
        self._count = blocking.rows * blocking.vectors
        self._sums = Registers(
            "sums", self._count * blocking.chains, blocking.lanes, precision.total
        )

    def start(self, value: Callable[[int], Any] | None) -> None:
        """Set the sums to 0, or to a value of each vector of columns in all rows."""
        zero = emit.constant(0, self._precision.total, self._blocking.lanes)
        for number in range(self._count * self._blocking.chains):
            first = value is not None and number < self._count
            vector = number % self._blocking.vectors
            self._sums[number] = value(vector) if first and value else zero

    def accumulate(
        self,
        left: Reader,
        right: Reader,
        steps: int,
        beside: Callable[[Any], None] | None = None,
    ) -> None:
        """Add ``steps`` steps of the reduction. ``beside(iteration)`` emits more code for each
        iteration of the loop, which has ``unroll`` steps."""
        unroll = min(self._blocking.unroll, steps)
        with emit.serial(steps // unroll, "step") as step:
            if beside is not None:
                beside(step)
            for inner in range(unroll):
                self._step(left, right, step * unroll + inner, inner % self._blocking.chains)
        for step in range(steps - steps % unroll, steps):
            self._step(left, right, step, step % self._blocking.chains)

    def _step(self, left: Reader, right: Reader, step: Any, chain: int) -> None:
        blocking = self._blocking
        line = emit.line_elements(self._precision.word)
        vectors = []
        for vector in range(blocking.vectors):
            if blocking.prefetch and right.ahead and vector * blocking.lanes % line == 0:
                right.ahead(step + blocking.prefetch, vector * blocking.lanes)
            vectors.append(emit.bind("right", right.word(step, vector * blocking.lanes)))
        for row in range(blocking.rows):
            word = emit.bind("left", emit.broadcast(left.word(step, row), blocking.lanes))
            for vector, words in enumerate(vectors):
                number = chain * self._count + row * blocking.vectors + vector
                self._sums[number] = self._precision.multiply_add(
                    self._sums[number], word, words, blocking.lanes
                )

    def fold(self) -> None:
        """Add up the chains."""
        for chain in range(1, self._blocking.chains):
            for number in range(self._count):
                self._sums[number] = self._sums[number] + self._sums[chain * self._count + number]

    def save(self, buffer: Any, base: Any) -> None:
        """Store the sums from an index of a buffer on."""
        for number in range(self._count):
            at = base + number * self._blocking.lanes
            emit.store(buffer, self._sums[number], [at], self._blocking.lanes)

    def prefetch(self, buffer: Any, base: Any) -> None:
        """Prefetch what ``resume`` will load."""
        line = emit.line_elements(self._precision.total)
        for first in range(0, self._count * self._blocking.lanes, line):
            emit.prefetch(buffer, [base + first])

    def resume(self, buffer: Any, base: Any) -> None:
        """Add the sums that ``save`` stored. They are not needed before the last step: to begin
        with them would wait for memory in each tile."""
        for number in range(self._count):
            at = base + number * self._blocking.lanes
            before = emit.load(buffer, [at], self._blocking.lanes)
            self._sums[number] = self._sums[number] + before

    def write(self, put: Callable[[int, int, Any], None]) -> None:
        """Give each vector of sums to ``put(row, column, sums)``, places within the tile."""
        for row in range(self._blocking.rows):
            for vector in range(self._blocking.vectors):
                number = row * self._blocking.vectors + vector
                put(row, vector * self._blocking.lanes, self._sums[number])
