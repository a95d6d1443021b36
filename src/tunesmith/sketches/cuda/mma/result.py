"""From the sums in a warp's registers to memory, by way of shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import STEP, TileUse
from tunesmith.sketches.cuda.mma.epilogue import Epilogue
from tunesmith.sketches.cuda.mma.split_sum import PartialSums
from tunesmith.sketches.tir import emit

# More rounds than that are a loop.
_UNROLLED = 8
# The most sums that a thread reads at a time.
_WIDEST = 4


@dataclass(frozen=True)
class ResultWriter:
    """Writes a warp's tile of the result or of partial sums, 16 rows at a time.

    A thread of ``mma`` holds two neighbours of each row. The warp exchanges them through rows in
    shared memory, so that each thread stores a whole vector. Each 16 rows begin ``rows_apart`` rows
    after the 16 before.
    """

    use: TileUse
    target: Epilogue | PartialSums
    rows: Any
    rows_apart: int = STEP

    def write(
        self,
        sums: Callable[[int, int], Sequence[Any]],
        *,
        layer: Any,
        first_row: Any,
        first_column: Any,
        warp: Any,
        lane: Any,
    ) -> None:
        """``sums(i, j)`` are a thread's four of tile (i, j), of 16 rows and eight columns.

        ``layer`` is the tile's place in the batch, with that of its split where sums are partial.
        """
        tile, stride = self.use.tile, self.use.result_stride
        start = emit.bind("start", warp * (STEP * stride))
        own = emit.bind("own", start + lane // 4 * stride + lane % 4 * 2)
        for i in range(tile.warp_m // STEP):
            if i:
                device.warp_barrier()
            for j in range(tile.warp_n // 8):
                values = sums(i, j)
                for half in range(2):
                    for column in range(2):
                        at = own + half * 8 * stride + j * 8 + column
                        emit.store(self.rows, values[half * 2 + column], [at])
            device.warp_barrier()
            self._write_rows(layer, first_row + i * self.rows_apart, first_column, start, lane)

    def _write_rows(self, layer: Any, row: Any, column: Any, start: Any, lane: Any) -> None:
        vector = self.target.vector
        width = self.use.tile.warp_n // vector
        rounds = -(-STEP * width // WARP)

        def piece(turn: Any) -> None:
            number = lane + turn * WARP
            down, along = number // width, number % width * vector
            at = emit.bind("at", start + down * self.use.result_stride + along)
            into = emit.bind("row", row + down), emit.bind("column", column + along)
            with emit.when(self._inside(*into, number)):
                self.target.write(layer, *into, lambda: self._copied_sums(at))

        if rounds <= _UNROLLED:
            for turn in range(rounds):
                piece(turn)
        else:
            with emit.serial(rounds, "round") as turn:
                piece(turn)

    def _inside(self, row: Any, column: Any, number: Any) -> Any:
        from tvm import tirx

        product, tile = self.use.product, self.use.tile
        conditions = [tirx.const(True)]
        if product.rows % tile.block_m:
            conditions.append(row < product.rows)
        if product.columns % tile.block_n:
            conditions.append(column < product.columns)
        pieces = STEP * tile.warp_n // self.target.vector
        if pieces % WARP:
            conditions.append(number < pieces)
        return tirx.all(*conditions)

    def _copied_sums(self, at: Any) -> Any:
        """A vector of the sums, in registers.

        Reading it element by element would have bank conflicts.
        """
        vector = self.target.vector
        width = min(vector, _WIDEST)
        copy = emit.buffer("sums_copy", (vector,), self.rows.dtype, scope="local")
        for first in range(0, vector, width):
            emit.store(copy, emit.load(self.rows, [at + first], width), [first], width)
        return copy
