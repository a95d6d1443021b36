"""Products of matrices in float16 and bfloat16 on the tensor cores of NVIDIA GPUs."""

from __future__ import annotations

from typing import Any, ClassVar

from tunesmith.operators import Operator, ProductOperator
from tunesmith.sketches.cuda.tensor.matrix import (
    DEPTH,
    SIZE,
    Product,
    plain_matrix,
    widest_vector,
)
from tunesmith.sketches.cuda.tensor.tensor_sketch import TensorSketch
from tunesmith.sketches.gemm.matrices import OPERATORS


class CudaTensorGemm(TensorSketch):
    """Multiplies matrices of 16-bit elements on tensor cores, with sums in float32.

    ``mma`` of sm_80 and newer, fed by ``ldmatrix`` from tiles in shared memory that ``cp.async``
    fills several stages ahead. Tiles, warps, stages and the layout of shared memory are parameters;
    any sizes will do, and those of which rows are multiples of 16 bytes are copied fastest.
    """

    name: ClassVar[str] = "cuda_tensor_gemm"
    version: ClassVar[int] = 1

    def multiplies(self, operator: Operator) -> bool:
        return operator.name in OPERATORS

    def product(self, operator: ProductOperator) -> Product:
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
