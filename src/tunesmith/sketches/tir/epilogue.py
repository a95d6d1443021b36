"""What follows the sums of a product, in programs written loop by loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tunesmith.operators import Operand, ProductOperator, TvmArithmetic
from tunesmith.sketches.tir import emit

# Of the buffers of an operator, these are before the epilogue's.
_OPERANDS = 2

Load = Callable[[Any], Any]
"""Loads what is at a place of a buffer: a vector, or one number for all lanes."""


def epilogue_tensors(buffers: Sequence[Any]) -> list[Any]:
    """The tensors that the epilogue takes, one for each of its operands.

    ``buffers`` are those of an operator's arguments and its result.
    """
    return list(buffers[_OPERANDS:-1])


def flat_epilogue_tensors(buffers: Sequence[Any]) -> list[Any]:
    """The same with those of the result's shape in one dimension."""
    tensors = epilogue_tensors(buffers)
    return [emit.flat(tensor) if len(tensor.shape) > 1 else tensor for tensor in tensors]


def per_channel(operator: ProductOperator, tensors: Sequence[Any]) -> dict[str, Any]:
    """Of the tensors of an epilogue those with one number per channel, such as "bias", by name."""
    return {
        name: tensor
        for tensor, (name, kind) in zip(tensors, operator.epilogue.operands, strict=True)
        if kind is Operand.CHANNEL
    }


def finished(
    operator: ProductOperator,
    sums: Any,
    lanes: int,
    tensors: Sequence[Any],
    *,
    of_channel: Load,
    of_element: Load,
    bias_added: bool = False,
    dtype: str | None = None,
) -> Any:
    """A vector of the result, made of the sums and the epilogue's ``tensors``.

    ``of_channel`` loads one with a number per channel, ``of_element`` one of the result's shape.
    With ``bias_added`` the sums have the bias already, and its tensor is not read. The vector is of
    the result's type unless ``dtype`` is given.
    """
    epilogue, left = operator.epilogue, list(tensors)
    if bias_added and epilogue.bias:
        epilogue, left = replace(epilogue, bias=False), left[1:]
    kind = emit.vector_type(operator.accumulate_dtype, lanes)

    def loaded() -> Iterator[Any]:
        for tensor, (_, operand) in zip(left, epilogue.operands, strict=True):
            value = of_channel(tensor) if operand is Operand.CHANNEL else of_element(tensor)
            yield value.astype(kind)

    value = epilogue.apply(TvmArithmetic(kind), sums, loaded())
    return value.astype(emit.vector_type(dtype or operator.result.dtype, lanes))
