"""The epilogue of a vector of sums, and the store of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import ProductOperator
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import epilogue_buffers, finished


@dataclass(frozen=True)
class Epilogue:
    """Computes and stores ``vector`` elements of the result along a row.

    ``buffers`` are the operator's arguments and its result.
    """

    operator: ProductOperator
    product: Product
    buffers: Sequence[Any]
    vector: int

    def write(self, batch: Any, row: Any, column: Any, sums: Callable[[], Any]) -> None:
        """``sums`` emits the loads of the sums, and returns a buffer of registers."""
        operator, vector = self.operator, self.vector
        bias, residual, output = epilogue_buffers(operator, self.buffers)
        index = emit.bind("element", self.product.place(batch, row, column))
        result = emit.buffer("result", (vector,), operator.result.dtype, scope="local")
        read = {}
        if bias is not None:
            read["bias"] = self._bias(bias, row, column)
        if residual is not None:
            read["residual"] = self._copied("residual", residual, index)
        known = sums()
        for element in range(vector):
            added = {name: of_element(element) for name, of_element in read.items()}
            emit.store(result, finished(operator, known[element], **added), [element])
        emit.store(emit.flat(output), emit.load(result, [0], vector), [index], vector)

    def _bias(self, bias: Any, row: Any, column: Any) -> Callable[[int], Any]:
        if not self.product.bias_along_rows:
            return self._copied("bias", bias, column)
        value = emit.bind("bias_of_row", bias[row])
        return lambda _: value

    def _copied(self, name: str, source: Any, index: Any) -> Callable[[int], Any]:
        """A vector of a tensor of the epilogue, in registers."""
        copy = emit.buffer(f"{name}_copy", (self.vector,), source.dtype, scope="local")
        emit.store(copy, emit.load(emit.flat(source), [index], self.vector), [0], self.vector)
        return lambda element: copy[element]
