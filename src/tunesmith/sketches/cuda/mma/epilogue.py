"""The epilogue of a vector of sums, and the store of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import Operand, ProductOperator
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import epilogue_tensors, finished


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
        tensors, output = epilogue_tensors(self.buffers), self.buffers[-1]
        index = emit.bind("element", self.product.place(batch, row, column))
        result = emit.buffer("result", (vector,), operator.result.dtype, scope="local")
        read = {
            tensor: self._of_channel(name, tensor, row, column)
            if kind is Operand.CHANNEL
            else self._copied(name, tensor, index)
            for tensor, (name, kind) in zip(tensors, operator.epilogue.operands, strict=True)
        }
        known = sums()
        for element in range(vector):

            def loaded(tensor: Any, element: int = element) -> Any:
                return read[tensor](element)

            value = finished(
                operator, known[element], 1, tensors, of_channel=loaded, of_element=loaded
            )
            emit.store(result, value, [element])
        emit.store(emit.flat(output), emit.load(result, [0], vector), [index], vector)

    def _of_channel(self, name: str, tensor: Any, row: Any, column: Any) -> Callable[[int], Any]:
        if not self.product.bias_along_rows:
            return self._copied(name, tensor, column)
        value = emit.bind(f"{name}_of_row", tensor[row])
        return lambda _: value

    def _copied(self, name: str, source: Any, index: Any) -> Callable[[int], Any]:
        """A vector of a tensor of the epilogue, in registers."""
        copy = emit.buffer(f"{name}_copy", (self.vector,), source.dtype, scope="local")
        emit.store(copy, emit.load(emit.flat(source), [index], self.vector), [0], self.vector)
        return lambda element: copy[element]
