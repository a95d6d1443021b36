"""What follows the sums of a product, in programs written loop by loop: bias, residual, ReLU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.operators import ProductOperator
from tunesmith.sketches.tir import emit


def epilogue_buffers(
    operator: ProductOperator, buffers: Sequence[Any]
) -> tuple[Any | None, Any | None, Any]:
    """The bias and the residual, None where there is none, and the result.

    ``buffers`` are those of the operator's arguments and its result.
    """
    bias = buffers[2] if operator.bias else None
    return bias, buffers[-2] if operator.residual else None, buffers[-1]


def finished(
    operator: ProductOperator,
    sums: Any,
    lanes: int = 1,
    *,
    bias: Any | None = None,
    residual: Any | None = None,
) -> Any:
    """A vector of the result, made of the sums and of what is added to them."""
    total = operator.accumulate_dtype
    for added in (bias, residual):
        if added is not None:
            sums = sums + added.astype(emit.vector_type(total, lanes))
    if operator.relu:
        sums = emit.maximum(sums, emit.constant(0, total, lanes))
    return sums.astype(emit.vector_type(operator.result.dtype, lanes))
