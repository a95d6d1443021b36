"""Batched matrix product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tunesmith.operators._epilogue import ProductOperator
from tunesmith.operators._operator import Argument, Float64Array
from tunesmith.operators._options import choice, size


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchMatmul(ProductOperator):
    """``output[b, m, n] = sum over k of data[b, m, k] * weight[b, k, n]``.

    ``transpose`` gives the layout of the operands, N as above and T with the last two axes
    swapped: NT takes weight (b, n, k), TN takes data (b, k, m).
    """

    name: ClassVar[str] = "batch_matmul"
    summary: ClassVar[str] = "products of a batch of pairs of matrices"
    signature: ClassVar[tuple[str, ...]] = (
        "data (b, m, k), or (b, k, m) for TN",
        "weight (b, k, n), or (b, n, k) for NT",
    )

    b: int = field(metadata=size("pairs in the batch"))
    m: int = field(metadata=size("rows of each result"))
    n: int = field(metadata=size("columns of each result"))
    k: int = field(metadata=size("length of the sums"))
    transpose: str = field(
        default="NN", metadata=choice("which operand is transposed", "NN", "NT", "TN")
    )

    @property
    def operands(self) -> tuple[Argument, Argument]:
        data = (self.k, self.m) if self.transpose == "TN" else (self.m, self.k)
        weight = (self.n, self.k) if self.transpose == "NT" else (self.k, self.n)
        return (
            Argument("data", (self.b, *data), self.dtype),
            Argument("weight", (self.b, *weight), self.dtype),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.b, self.m, self.n

    @property
    def reduction_length(self) -> int:
        return self.k

    @property
    def multiply_adds(self) -> int:
        return self.b * self.m * self.n * self.k

    def _define_products(self, data: Any, weight: Any) -> Any:
        from tvm import te

        total = self.accumulate_dtype
        k = te.reduce_axis((0, self.k), name="k")

        def element(b: Any, i: Any, j: Any) -> Any:
            left = data[b, k, i] if self.transpose == "TN" else data[b, i, k]
            right = weight[b, j, k] if self.transpose == "NT" else weight[b, k, j]
            return te.sum(left.astype(total) * right.astype(total), axis=k)

        return te.compute(self.output_shape, element, name=self.name)

    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        left = data.transpose(0, 2, 1) if self.transpose == "TN" else data
        right = weight.transpose(0, 2, 1) if self.transpose == "NT" else weight
        product: Float64Array = left @ right
        return product
