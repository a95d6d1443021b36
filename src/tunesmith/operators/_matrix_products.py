"""Products of matrices: ``matmul``, ``dense`` and ``batch_matmul``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tunesmith.operators._base.epilogue import ProductOperator
from tunesmith.operators._base.operator import Argument, Float64Array
from tunesmith.operators._base.options import choice, size


@dataclass(frozen=True, kw_only=True, repr=False)
class _MatrixProduct(ProductOperator):
    """What the three have in common: sizes m, n and k, maybe a batch, maybe transposed."""

    m: int = field(metadata=size("rows of the result"))
    n: int = field(metadata=size("columns of the result"))
    k: int = field(metadata=size("length of the sums"))

    @property
    def _transposed(self) -> str:
        """The layout of the operands, as ``BatchMatmul.transpose``."""
        return "NN"

    @property
    def _batch(self) -> tuple[int, ...]:
        """The axes before those of the matrices."""
        return ()

    @property
    def operands(self) -> tuple[Argument, Argument]:
        data = (self.k, self.m) if self._transposed == "TN" else (self.m, self.k)
        weight = (self.n, self.k) if self._transposed == "NT" else (self.k, self.n)
        return (
            Argument("data", (*self._batch, *data), self.dtype),
            Argument("weight", (*self._batch, *weight), self.dtype),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        return *self._batch, self.m, self.n

    @property
    def reduction_length(self) -> int:
        return self.k

    def _define_products(self, data: Any, weight: Any) -> Any:
        from tvm import te

        total = self.accumulate_dtype
        k = te.reduce_axis((0, self.k), name="k")

        def element(batch: tuple[Any, ...], i: Any, j: Any) -> Any:
            left = data[*batch, k, i] if self._transposed == "TN" else data[*batch, i, k]
            right = weight[*batch, j, k] if self._transposed == "NT" else weight[*batch, k, j]
            return te.sum(left.astype(total) * right.astype(total), axis=k)

        # TVM names the axes of the stage after the parameters of these functions.
        if self._batch:
            return te.compute(
                self.output_shape, lambda b, i, j: element((b,), i, j), name=self.name
            )
        return te.compute(self.output_shape, lambda i, j: element((), i, j), name=self.name)

    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        left = data.swapaxes(-2, -1) if self._transposed == "TN" else data
        right = weight.swapaxes(-2, -1) if self._transposed == "NT" else weight
        product: Float64Array = left @ right
        return product


@dataclass(frozen=True, kw_only=True, repr=False)
class Matmul(_MatrixProduct):
    """``output[m, n] = sum over k of data[m, k] * weight[k, n]``."""

    name: ClassVar[str] = "matmul"
    summary: ClassVar[str] = "product of two matrices"
    signature: ClassVar[tuple[str, ...]] = ("data (m, k)", "weight (k, n)")


@dataclass(frozen=True, kw_only=True, repr=False)
class Dense(_MatrixProduct):
    """``output[m, n] = sum over k of data[m, k] * weight[n, k]``, weights as in PyTorch."""

    name: ClassVar[str] = "dense"
    summary: ClassVar[str] = "fully connected layer"
    signature: ClassVar[tuple[str, ...]] = ("data (m, k)", "weight (n, k)")

    m: int = field(default=1, metadata=size("rows of data: the batch"))
    n: int = field(metadata=size("output features"))
    k: int = field(metadata=size("input features"))

    @property
    def _transposed(self) -> str:
        return "NT"


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchMatmul(_MatrixProduct):
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
    def _transposed(self) -> str:
        return self.transpose

    @property
    def _batch(self) -> tuple[int, ...]:
        return (self.b,)
