"""From the sums in a warp's registers to the result: by way of shared memory, with the epilogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import ProductOperator
from tunesmith.sketches import emit
from tunesmith.sketches.cuda.tensor import device
from tunesmith.sketches.cuda.tensor.block_tile import STEP, TileUse
from tunesmith.sketches.cuda.tensor.device import WARP
from tunesmith.sketches.cuda.tensor.matrix import Product

# More rounds than that are a loop.
_UNROLLED = 8
# Sums that a thread reads at a time, at the most.
_WIDEST = 4


@dataclass(frozen=True)
class ResultWriter:
    """Writes a warp's tile of the result, 16 rows at a time.

    A thread of ``mma`` holds two neighbours of each row. Through rows in shared memory that are the
    warp's own, each thread gets as many as it can write at a time. The 16 rows of a time begin
    ``rows_apart`` rows after those of the time before.
    """

    operator: ProductOperator
    product: Product
    use: TileUse
    buffers: Sequence[Any]
    rows: Any
    rows_apart: int = STEP

    def write(
        self,
        sums: Callable[[int, int], Sequence[Any]],
        *,
        batch: Any,
        first_row: Any,
        first_column: Any,
        warp: Any,
        lane: Any,
    ) -> None:
        """``sums(i, j)`` are a thread's four of tile (i, j), of 16 rows and eight columns."""
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
            self._write_rows(batch, first_row + i * self.rows_apart, first_column, start, lane)

    def _write_rows(self, batch: Any, row: Any, column: Any, start: Any, lane: Any) -> None:
        vector = self.product.vector
        width = self.use.tile.warp_n // vector
        rounds = -(-STEP * width // WARP)

        def piece(turn: Any) -> None:
            number = lane + turn * WARP
            down, along = number // width, number % width * vector
            at = emit.bind("at", start + down * self.use.result_stride + along)
            into = emit.bind("row", row + down), emit.bind("column", column + along)
            with emit.when(self._inside(*into, number)):
                self._write_vector(batch, *into, at)

        if rounds <= _UNROLLED:
            for turn in range(rounds):
                piece(turn)
        else:
            with emit.serial(rounds, "round") as turn:
                piece(turn)

    def _inside(self, row: Any, column: Any, number: Any) -> Any:
        from tvm import tirx

        product, tile = self.product, self.use.tile
        conditions = [tirx.const(True)]
        if product.rows % tile.block_m:
            conditions.append(row < product.rows)
        if product.columns % tile.block_n:
            conditions.append(column < product.columns)
        pieces = STEP * tile.warp_n // product.vector
        if pieces % WARP:
            conditions.append(number < pieces)
        return tirx.all(*conditions)

    def _write_vector(self, batch: Any, row: Any, column: Any, at: Any) -> None:
        operator, vector = self.operator, self.product.vector
        total, dtype = operator.accumulate_dtype, operator.result.dtype
        _, _, *extra, output = self.buffers
        index = emit.bind("element", self.product.place(batch, row, column))
        result = emit.buffer("result", (vector,), dtype, scope="local")
        bias = self._bias(extra[0], row, column) if operator.bias else None
        residual = self._copied("residual", extra[-1], index) if operator.residual else None
        sums = self._copied_sums(at)
        for element in range(vector):
            value = sums[element]
            if bias is not None:
                value = value + bias(element).astype(total)
            if residual is not None:
                value = value + residual(element).astype(total)
            if operator.relu:
                value = emit.maximum(value, emit.constant(0, total))
            emit.store(result, value.astype(dtype), [element])
        emit.store(emit.flat(output), emit.load(result, [0], vector), [index], vector)

    def _copied_sums(self, at: Any) -> Any:
        """A vector of the sums, in registers.

        Lanes whose vectors are read element by element would meet in the same banks.
        """
        vector = self.product.vector
        width = min(vector, _WIDEST)
        copy = emit.buffer("sums_copy", (vector,), self.operator.accumulate_dtype, scope="local")
        for first in range(0, vector, width):
            emit.store(copy, emit.load(self.rows, [at + first], width), [first], width)
        return copy

    def _bias(self, bias: Any, row: Any, column: Any) -> Callable[[int], Any]:
        if not self.product.bias_along_rows:
            return self._copied("bias", bias, column)
        value = emit.bind("bias_of_row", bias[row])
        return lambda _: value

    def _copied(self, name: str, source: Any, index: Any) -> Callable[[int], Any]:
        """A vector of a tensor of the epilogue, in registers."""
        vector = self.product.vector
        copy = emit.buffer(f"{name}_copy", (vector,), source.dtype, scope="local")
        emit.store(copy, emit.load(emit.flat(source), [index], vector), [0], vector)
        return lambda element: copy[element]
