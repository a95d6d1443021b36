"""How the threads of a block copy an operand's tile from the GPU's memory to shared memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import TileUse
from tunesmith.sketches.cuda.mma.matrix import DEPTH, Line, Matrix, Taps
from tunesmith.sketches.cuda.mma.shared_tile import CHUNK, SharedTile
from tunesmith.sketches.tir import emit


@dataclass(frozen=True)
class Share:
    """A piece of a tile that a thread copies for each k tile: its row or column with its line, its
    first depth there, and its target in the stage; ``present`` is None where it is never beyond
    the operand."""

    index: Any
    line: Line
    depth: Any
    target: Any
    present: Any | None


class Copier(ABC):
    """Copies one operand's part of each k tile: ``begin``, and some time later ``finish``."""

    def __init__(
        self,
        matrix: Matrix,
        tile: SharedTile,
        *,
        source: Any,
        shared: Any,
        first_element: int,
        block_k: int,
        threads: int,
    ) -> None:
        self.matrix = matrix
        self.tile = tile
        self.source = source
        self.shared = shared
        self.first_element = first_element
        self.block_k = block_k
        self.threads = threads
        self.size = tile.rows if matrix.shared_along == DEPTH else tile.columns
        self.pieces = tile.rows * tile.columns // matrix.piece
        self._shares: list[Share] = []

    def prepare(self, batch: Any, first: Any, thread: Any, first_depth: Any) -> None:
        """Compute what is the same for all k tiles; ``first`` is the block's first row or column,
        and ``first_depth`` the first depth of its first k tile."""
        self._thread = thread
        for turn in range(-(-self.pieces // self.threads)):
            size, depth, row, chunk, within = self._piece(thread, turn)
            index = emit.bind("index", first + size)
            present = index < self.matrix.size if self.matrix.size % self.size else None
            target = self.first_element + self.tile.place(row, chunk) + within
            share = Share(
                index,
                self.matrix.line(batch, index),
                emit.bind("depth", first_depth + depth),
                emit.bind("target", target),
                present,
            )
            self._shares.append(share)

    @abstractmethod
    def begin(self, k_tile: Any, stage: Any) -> None:
        """Begin to copy a k tile to the stage with this first element."""

    @abstractmethod
    def finish(self, stage: Any) -> None:
        """Store what was gathered: the tile is there after the next wait and barrier."""

    @abstractmethod
    def _piece(self, thread: Any, turn: int) -> tuple[Any, Any, Any, Any, Any]:
        """A piece's place in the operand (size, depth) and in the tile (row, chunk, within it)."""

    def _turns(self) -> Iterator[tuple[int, Share, Any | None]]:
        """This thread's pieces, with the condition that there is such a piece, or None."""
        for turn, share in enumerate(self._shares):
            left = self.pieces - turn * self.threads
            yield turn, share, None if left >= self.threads else self._thread < left

    def _place(self, share: Share, k_tile: Any, element: int = 0) -> tuple[Any, Any | None]:
        """The index of an element in memory, and the condition that it is there, or None."""
        depth = k_tile * self.block_k + share.depth + element
        index, present = share.line(depth)
        inside = depth < self.matrix.depth if self.matrix.depth % self.block_k else None
        return index, _all(share.present, inside, present)


class AsyncCopier(Copier):
    """Copies vectors asynchronously, by ``cp.async``."""

    def _piece(self, thread: Any, turn: int) -> tuple[Any, Any, Any, Any, Any]:
        vector = self.matrix.vector
        row, column = _row_and_column(thread, turn, self.threads, self.tile.columns // vector)
        start = column * vector
        along_depth = self.matrix.along == DEPTH
        size, depth = (row, start) if along_depth else (start, row)
        return size, depth, row, start // CHUNK, start % CHUNK

    def begin(self, k_tile: Any, stage: Any) -> None:
        for _, share, there in self._turns():
            index, present = self._place(share, k_tile)
            target = device.address(self.shared, stage + share.target)
            source = device.address(self.source, index)
            with emit.when(there):
                device.copy_async(target, source, 2 * self.matrix.vector, present)

    def finish(self, stage: Any) -> None:
        """Nothing: copies are waited for together."""


class GatheringCopier(Copier):
    """Loads elements one by one to registers, eight along the sum; ``finish`` stores them."""

    def prepare(self, batch: Any, first: Any, thread: Any, first_depth: Any) -> None:
        super().prepare(batch, first, thread, first_depth)
        count = CHUNK * len(self._shares)
        self._read = emit.buffer("gathered", (count,), self.source.dtype, scope="local")
        self._places = emit.buffer("places", (count,), "int32", scope="local")

    def _piece(self, thread: Any, turn: int) -> tuple[Any, Any, Any, Any, Any]:
        # Neighbouring threads read neighbouring elements.
        if self.matrix.along == DEPTH:
            chunks = self.block_k // CHUNK
            size, chunk = _row_and_column(thread, turn, self.threads, chunks)
        else:
            chunk, size = _row_and_column(thread, turn, self.threads, self.size)
        return size, chunk * CHUNK, size, chunk, 0

    def begin(self, k_tile: Any, stage: Any) -> None:  # noqa: ARG002 - where they go, comes later
        for turn, share, there in self._turns():
            for element in range(CHUNK):
                index, present = self._place(share, k_tile, element)
                self._read_element(turn * CHUNK + element, index, _all(there, present))

    def _read_element(self, number: int, index: Any, present: Any | None) -> None:
        """Without a branch, which costs more than an unneeded load of the first element."""
        from tvm import tirx

        if present is None:
            emit.store(self._read, self.source[index], [number])
            return
        nowhere, zero = emit.constant(-1, "int32"), emit.constant(0, self.source.dtype)
        emit.store(self._places, tirx.Select(present, index, nowhere), [number])
        self._read_place(number, zero)

    def _read_place(self, number: int, zero: Any) -> None:
        from tvm import tirx

        place = self._places[number]
        emit.store(self._read, self.source[emit.maximum(place, 0)], [number])
        emit.store(self._read, tirx.Select(place < 0, zero, self._read[number]), [number])

    def finish(self, stage: Any) -> None:
        for turn, share, there in self._turns():
            with emit.when(there):
                values = emit.load(self._read, [turn * CHUNK], CHUNK)
                emit.store(self.shared, values, [stage + share.target], CHUNK)


class WindowCopier(GatheringCopier):
    """Gathers windows with a table of their terms, so that no index is divided.

    ``table`` is shared memory in words. The table begins at ``first_word`` and has ``count``
    entries, one for each term of the block's k tiles. An entry is the offset of a term from the
    window's first one, and one bit for its tap. For each of its windows a thread keeps a word with
    the bits of the taps that are not padding.
    """

    def __init__(
        self, *given: Any, taps: Taps, table: Any, first_word: int, count: int, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self.taps = taps
        self.table = table
        self.first_word = first_word
        self.count = count

    def prepare(self, batch: Any, first: Any, thread: Any, first_depth: Any) -> None:
        """Fill the table, too: a barrier must follow."""
        super().prepare(batch, first, thread, first_depth)
        self._first_depth = first_depth
        self._fill(thread)
        self._entries = emit.buffer("entries", (2 * CHUNK,), "int32", scope="local")
        self._windows = [self._window(share) for _, share, _ in self._turns()]

    def _fill(self, thread: Any) -> None:
        with emit.serial(-(-self.count // self.threads), "turn") as turn:
            entry = emit.bind("depth", turn * self.threads + thread)
            with emit.when(entry < self.count):
                depth = self._first_depth + entry
                offset, tap = self.taps.term(depth)
                bit = emit.constant(1, "int32") << tap
                is_term = depth < self.matrix.depth
                for word, value in enumerate((offset, bit)):
                    known = emit.if_then_else(is_term, value, emit.constant(0, "int32"))
                    emit.store(self.table, known, [self.first_word + entry * 2 + word])

    def _window(self, share: Share) -> tuple[Any, Any]:
        """The offset of a window, and the bits of its taps that are not padding."""
        zero = emit.constant(0, "int32")
        window = self.taps.window(share.index)
        bits: Any = zero
        for tap in range(self.taps.count):
            there = _all(share.present, window.inside(tap))
            bit = emit.constant(1 << tap, "int32")
            bits = bits | (bit if there is None else emit.if_then_else(there, bit, zero))
        kept = emit.buffer("taps_there", (1,), "int32", scope="local")
        emit.store(kept, bits, [0])
        return window.start, kept

    def begin(self, k_tile: Any, stage: Any) -> None:  # noqa: ARG002 - where they go, comes later
        from tvm import tirx

        nowhere, zero = emit.constant(-1, "int32"), emit.constant(0, self.source.dtype)
        for turn, share, there in self._turns():
            start, taps_there = self._windows[turn]
            first = self._first_depth
            depth = share.depth if there is None else emit.if_then_else(there, share.depth, first)
            entry = self.first_word + (k_tile * self.block_k + (depth - first)) * 2
            for word in range(0, 2 * CHUNK, 4):
                emit.store(self._entries, emit.load(self.table, [entry + word], 4), [word], 4)
            for element in range(CHUNK):
                number = turn * CHUNK + element
                offset, bit = self._entries[2 * element], self._entries[2 * element + 1]
                absent = (taps_there[0] & bit) == 0
                emit.store(self._places, tirx.Select(absent, nowhere, start + offset), [number])
                self._read_place(number, zero)


def copier(
    matrix: Matrix,
    tile: SharedTile,
    use: TileUse,
    *,
    buffers: Sequence[Any],
    shared: Any,
    first_element: int,
) -> Copier:
    """The copier of an operand to its tile, which begins at that element of each stage."""
    named = {
        "source": emit.flat(buffers[matrix.argument]),
        "shared": shared,
        "first_element": first_element,
        "block_k": use.tile.block_k,
        "threads": use.tile.threads,
    }
    if not matrix.gathered:
        return AsyncCopier(matrix, tile, **named)
    if matrix.taps is None:
        return GatheringCopier(matrix, tile, **named)
    words = device.view(shared, use.shared_bytes // 4, "int32")
    return WindowCopier(
        matrix,
        tile,
        **named,
        taps=matrix.taps,
        table=words,
        first_word=use.table_start // 4,
        count=matrix.table_entries(use.tile.block_k, use.tile.splits),
    )


def _row_and_column(thread: Any, turn: int, threads: int, width: int) -> tuple[Any, Any]:
    """Row and column of piece ``turn * threads + thread`` among rows of ``width`` pieces."""
    if threads % width == 0:  # so that turns differ by a constant
        return thread // width + turn * (threads // width), thread % width
    piece = thread + turn * threads
    return piece // width, piece % width


def _all(*conditions: Any) -> Any | None:
    from tvm import tirx

    known = [condition for condition in conditions if condition is not None]
    return tirx.all(*known) if known else None
