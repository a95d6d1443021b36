"""Matrix product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tunesmith.operators._epilogue import ProductOperator
from tunesmith.operators._operator import Argument, Float64Array
from tunesmith.operators._options import size


@dataclass(frozen=True, kw_only=True, repr=False)
class Matmul(ProductOperator):
    """``output[m, n] = sum over k of data[m, k] * weight[k, n]``."""

    name: ClassVar[str] = "matmul"
    summary: ClassVar[str] = "product of two matrices"
    signature: ClassVar[tuple[str, ...]] = ("data (m, k)", "weight (k, n)")

    m: int = field(metadata=size("rows of the result"))
    n: int = field(metadata=size("columns of the result"))
    k: int = field(metadata=size("length of the sums"))

    @property
    def operands(self) -> tuple[Argument, Argument]:
        return (
            Argument("data", (self.m, self.k), self.dtype),
            Argument("weight", (self.k, self.n), self.dtype),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.m, self.n

    @property
    def reduction_length(self) -> int:
        return self.k

    @property
    def multiply_adds(self) -> int:
        return self.m * self.n * self.k

    def _define_products(self, data: Any, weight: Any) -> Any:
        from tvm import te

        total = self.accumulate_dtype
        k = te.reduce_axis((0, self.k), name="k")
        return te.compute(
            self.output_shape,
            lambda i, j: te.sum(data[i, k].astype(total) * weight[k, j].astype(total), axis=k),
            name=self.name,
        )

    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        product: Float64Array = data @ weight
        return product
