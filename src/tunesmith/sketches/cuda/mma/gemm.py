"""Operators that multiply two matrices as they are in memory."""

from __future__ import annotations

from typing import Any

from tunesmith.operators import MATRIX_PRODUCTS, Operator, ProductOperator
from tunesmith.sketches.cuda.mma.matrix import (
    DEPTH,
    SIZE,
    Product,
    plain_matrix,
    widest_vector,
)


class Gemm:
    """The part of a sketch that knows these operators."""

    def multiplies(self, operator: Operator) -> bool:
        """Whether the operator is one of ``MATRIX_PRODUCTS``."""
        return operator.name in MATRIX_PRODUCTS

    def product(self, operator: ProductOperator) -> Product:
        """The product that it is."""
        return gemm_product(operator)


def gemm_product(operator: ProductOperator) -> Product:
    """The product that ``matmul``, ``batch_matmul`` or ``dense`` is."""
    *batch, rows, columns = operator.output_shape
    depth = operator.reduction_length
    transpose = getattr(operator, "transpose", "NT" if operator.name == "dense" else "NN")

    def place(b: Any, row: Any, column: Any) -> Any:
        return (b * rows + row) * columns + column

    return Product(
        batch=batch[0] if batch else 1,
        left=plain_matrix(0, rows, depth, SIZE if transpose == "TN" else DEPTH),
        right=plain_matrix(1, columns, depth, DEPTH if transpose == "NT" else SIZE),
        place=place,
        vector=widest_vector(columns),
    )
