"""The operands of a product: how their elements are loaded, and how they are packed into panels.

A panel holds a tile of rows of the left operand, or of columns of the right one, word by word
along the reduction: what one step of the microkernel reads is contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.gemm.precision import Precision
from tunesmith.sketches.tir import emit, shuffles

ALONG_SIZE = "size"
ALONG_DEPTH = "depth"

Run = Callable[[Any, Any, int], Any]
"""``run(depth, index, lanes)``: elements that follow each other in memory."""


@dataclass(frozen=True)
class Operand:
    """One of two operands: ``size`` rows (left) or columns (right), each of ``depth`` elements.

    ``element(depth, index)`` loads an element. Where elements are contiguous,
    ``run(depth, index, lanes)`` loads a vector, and ``along`` is the direction: that of the index
    (``ALONG_SIZE``) or of the depth (``ALONG_DEPTH``). Without it, panels are filled element by
    element, which is slow.
    """

    size: int
    depth: int
    element: Callable[[Any, Any], Any]
    run: Run | None = None
    along: str | None = None

    @staticmethod
    def matrix(buffer: Any, prefix: Sequence[Any], along: str, size: int, depth: int) -> Operand:
        """A matrix in the last two dimensions of a buffer, of which the last is ``along``."""

        def place(at: Any, index: Any) -> list[Any]:
            return [*prefix, *((at, index) if along == ALONG_SIZE else (index, at))]

        return Operand(
            size,
            depth,
            lambda at, index: emit.load(buffer, place(at, index)),
            lambda at, index, lanes: emit.load(buffer, place(at, index), lanes),
            along,
        )


@dataclass(frozen=True)
class Place:
    """Where a panel is: in the last dimension of a buffer, after the indices ``prefix``."""

    buffer: Any
    prefix: Sequence[Any]

    def load(self, at: Any, lanes: int) -> Any:
        """``lanes`` words from index ``at`` on."""
        return emit.load(self.buffer, [*self.prefix, at], lanes)

    def store(self, value: Any, at: Any, lanes: int = 1) -> None:
        """The inverse of ``load``."""
        emit.store(self.buffer, value, [*self.prefix, at], lanes)

    def prefetch(self, at: Any) -> None:
        """Prefetch the cache line of a word."""
        emit.prefetch(self.buffer, [*self.prefix, at])


@dataclass(frozen=True)
class Panel:
    """A panel to be filled: ``width`` rows or columns of an operand from ``start`` on.

    It takes ``count`` words of each from ``first`` on, in vectors of up to ``lanes`` words. Word
    ``first + w`` of row or column ``start + i`` goes to ``w * width + i`` of its place.
    """

    precision: Precision
    operand: Operand
    width: int
    start: Any
    first: Any
    count: int
    lanes: int
    shift: bool
    """Whether it is of the left operand, whose words some precisions shift."""
    place: Place

    def fill(self) -> None:
        """Emit the loops that fill it."""
        group, depth = self.precision.group, self.operand.depth
        full = self.count if depth % group == 0 else depth // group
        if self.operand.run is None or full == 0:
            self._gather(0, self.count, 0, self.width)
            return
        if self.operand.along == ALONG_SIZE:
            self._copy(self.operand.run, full)
        else:
            self._turn(self.operand.run, full)
        if full < self.count:
            self._gather(full, self.count - full, 0, self.width)

    def _copy(self, run: Run, count: int) -> None:
        """Where the operand is contiguous along the panel's width: copy vectors, and interleave the
        elements of words."""
        group = self.precision.group
        parts = emit.powers_of_two(self.width, self.lanes * group)
        with emit.serial(count, "word") as word:
            depth = (self.first + word) * group
            for place, size in parts:
                if size < group:
                    continue
                rows = [
                    self.precision.raw(run(depth + inner, self.start + place, size), size)
                    for inner in range(group)
                ]
                words = size // group
                for part, row in enumerate(shuffles.turned(rows, size)):
                    value = self._finished(self.precision.packed(row, words), words)
                    self.place.store(value, word * self.width + place + part * words, words)
        for place, size in parts:
            if size < group:
                self._gather(0, count, place, size)

    def _turn(self, run: Run, count: int) -> None:
        """Where the operand is contiguous along the reduction: transpose blocks in registers."""
        lanes = min(self.lanes, emit.power_of_two(count))
        parts = emit.powers_of_two(self.width, self.lanes)
        alike = self.width // self.lanes
        with emit.serial(emit.tile_count(count, lanes), "block") as block:
            word = emit.bind("word", emit.tile_start(block, lanes, count))
            if alike > 1:
                with emit.serial(alike, "part") as part:
                    self._turn_block(run, word, lanes, part * self.lanes, size=self.lanes)
                parts = parts[alike:]
            for place, size in parts:
                if size > 1:
                    self._turn_block(run, word, lanes, place, size=size)
        if parts and parts[-1][1] == 1:
            self._gather(0, count, parts[-1][0], 1)

    def _turn_block(self, run: Run, word: Any, lanes: int, place: Any, *, size: int) -> None:
        """``lanes`` words from ``word`` on, of ``size`` rows from ``place`` on."""
        group = self.precision.group
        rows = []
        for row in range(size):
            depth = (self.first + word) * group
            elements = run(depth, self.start + place + row, lanes * group)
            words = self.precision.packed(self.precision.raw(elements, lanes * group), lanes)
            rows.append(self._finished(words, lanes))
        # Columns that fill the panel's width follow each other: whole vectors can be stored.
        step = lanes if size == self.width else min(size, lanes)
        for number, vector in enumerate(shuffles.turned(rows, lanes)):
            for lane in range(0, lanes, step):
                column, row = divmod(number * lanes + lane, size)
                piece = vector
                if step < lanes:
                    piece = shuffles.shuffled([vector], range(lane, lane + step))
                self.place.store(piece, (word + column) * self.width + place + row, step)

    def _gather(self, word: int, count: int, place: int, size: int) -> None:
        """Word by word, element by element; beyond the reduction's end there are zeros."""
        group, operand = self.precision.group, self.operand
        padded = operand.depth % group != 0
        with emit.serial(count, "word") as step, emit.serial(size, "index") as index:
            depth = (self.first + word + step) * group
            value = self.precision.joined(
                lambda inner: operand.element(depth + inner, self.start + place + index),
                (lambda inner: depth + inner < operand.depth) if padded else None,
            )
            at = (word + step) * self.width + place + index
            self.place.store(self._finished(value), at)

    def _finished(self, words: Any, lanes: int = 1) -> Any:
        return self.precision.shifted(words, lanes) if self.shift else words
