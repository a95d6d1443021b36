"""Fully connected layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tunesmith.operators._epilogue import ProductOperator
from tunesmith.operators._operator import Argument, Float64Array
from tunesmith.operators._options import size


@dataclass(frozen=True, kw_only=True, repr=False)
class Dense(ProductOperator):
    """``output[m, n] = sum over k of data[m, k] * weight[n, k]``, weights as in PyTorch."""

    name: ClassVar[str] = "dense"
    summary: ClassVar[str] = "fully connected layer"
    signature: ClassVar[tuple[str, ...]] = ("data (m, k)", "weight (n, k)")

    m: int = field(default=1, metadata=size("rows of data: the batch"))
    n: int = field(metadata=size("output features"))
    k: int = field(metadata=size("input features"))

    @property
    def operands(self) -> tuple[Argument, Argument]:
        return (
            Argument("data", (self.m, self.k), self.dtype),
            Argument("weight", (self.n, self.k), self.dtype),
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
            lambda i, j: te.sum(data[i, k].astype(total) * weight[j, k].astype(total), axis=k),
            name=self.name,
        )

    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        product: Float64Array = data @ weight.T
        return product
