"""The matrix products behind operators: their sizes, operands, and the write of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tunesmith.operators import ProductOperator
from tunesmith.sketches.cpu.gemm.blocking import Side
from tunesmith.sketches.cpu.gemm.operand import ALONG_DEPTH, ALONG_SIZE, Operand
from tunesmith.sketches.cpu.gemm.product import Put, Source, Stream
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import finished, flat_epilogue_tensors


@dataclass(frozen=True)
class Matrices:
    """``batch`` products of (rows, depth) by (depth, columns), and the layout of both operands.

    ``turned``: a result of one column is computed as one row, so that vectors run along it; then
    the operator's weights are the left operand.
    """

    batch: int
    rows: int
    columns: int
    depth: int
    left_along: str
    right_along: str
    turned: bool = False

    def along(self, side: Side) -> str:
        """In which direction an operand is contiguous."""
        return self.left_along if side is Side.ROWS else self.right_along

    def source(self, side: Side, buffers: Sequence[Any]) -> Source:
        """An operand, given the buffers of the operator's arguments."""
        buffer = buffers[(side is Side.COLUMNS) ^ self.turned]
        size = self.rows if side is Side.ROWS else self.columns
        batched = len(buffer.shape) == 3

        def operand(batch: Any) -> Operand:
            return Operand.matrix(buffer, [batch] * batched, self.along(side), size, self.depth)

        return operand

    def streams(self, buffers: Sequence[Any]) -> list[Stream]:
        """The memory of the operands and of the result, given the buffers of all arguments."""
        data, weight, *_, result = map(emit.flat, buffers)
        rows, columns, depth = self.rows, self.columns, self.depth
        sizes = (columns, rows) if self.turned else (rows, columns)
        return [
            Stream(data, sizes[0] * depth),
            Stream(weight, sizes[1] * depth),
            Stream(result, rows * columns, written=True),
        ]

    def put(self, operator: ProductOperator, buffers: Sequence[Any]) -> Put:
        """The write of the result, given the buffers of the arguments and the result."""
        # With one column or one row, the last dimension is not the contiguous one.
        output = emit.flat(buffers[-1])
        tensors = flat_epilogue_tensors(buffers)

        def put(batch: Any, row: Any, column: Any, sums: Any, lanes: int) -> None:
            at = (batch * self.rows + row) * self.columns + column

            def of_channel(tensor: Any) -> Any:
                if not self.turned:
                    return emit.load(tensor, [column], lanes)
                value = emit.load(tensor, [0]).astype(operator.accumulate_dtype)
                return emit.broadcast(value, lanes)

            value = finished(
                operator,
                sums,
                lanes,
                tensors,
                of_channel=of_channel,
                of_element=lambda tensor: emit.load(tensor, [at], lanes),
            )
            emit.store(output, value, [at], lanes)

        return put


@lru_cache(maxsize=256)
def matrices_of(operator: ProductOperator) -> Matrices:
    """The product behind one of ``MATRIX_PRODUCTS``."""
    *batch, rows, columns = operator.output_shape
    transpose = getattr(operator, "transpose", "NT" if operator.name == "dense" else "NN")
    left = ALONG_SIZE if transpose == "TN" else ALONG_DEPTH
    right = ALONG_DEPTH if transpose == "NT" else ALONG_SIZE
    count, depth = batch[0] if batch else 1, operator.reduction_length
    if columns == 1 and rows > 1:
        return Matrices(count, 1, rows, depth, right, left, turned=True)
    return Matrices(count, rows, columns, depth, left, right)
