"""Programs written loop by loop, with and without weights that are laid out first.

Constant weights are laid out once, in a function ``prepare``; others in ``main``, in each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tunesmith.operators import Argument, Operator, WeightedOperator
from tunesmith.sketches.tir import emit

PREPARE = "prepare"
"""The function over the weights and the tensor that it lays out."""

# Of the arguments of an operator with weights, the second one is the weights.
WEIGHT = 1

T = TypeVar("T")


def has_constant_weights(operator: Operator) -> bool:
    """Whether the operator says that its weights never change."""
    return isinstance(operator, WeightedOperator) and operator.constant_weights


def without_weights(values: Sequence[T]) -> list[T]:
    """``values``, one for each argument of an operator, without that of the weights."""
    return [value for place, value in enumerate(values) if place != WEIGHT]


def with_weights(values: Sequence[T], weights: T) -> list[T]:
    """``values``, one for each argument of an operator, with ``weights`` in the weights' place."""
    return [weights if place == WEIGHT else value for place, value in enumerate(values)]


def program_of(operator: Operator, main: Callable[[list[Any]], None]) -> Any:
    """A module with the one function ``main``.

    ``main`` emits its body, given the buffers of the operator's arguments and its result.
    """
    with (
        emit.module() as made,
        emit.function("main", [*operator.arguments, operator.result]) as buffers,
    ):
        main(buffers)
    return made[0]


def program_with_weights(
    operator: WeightedOperator,
    prepared: Argument,
    prepare: Callable[[Any, Any], None],
    main: Callable[[Sequence[Any]], None],
) -> Any:
    """A module whose ``main`` reads weights in another layout.

    ``prepare`` emits the code that fills the buffer ``prepared`` from the plain weights; ``main``
    emits the rest, given the buffers of the operator's arguments, ``prepared`` in place of the
    weights, and the result.
    """
    parameters = [*operator.arguments, operator.result]
    with emit.module() as made:
        if operator.constant_weights:
            with emit.function(PREPARE, [parameters[WEIGHT], prepared]) as (plain, filled):
                prepare(plain, filled)
            parameters[WEIGHT] = prepared
            with emit.function("main", parameters) as buffers:
                main(buffers)
        else:
            with emit.function("main", parameters) as buffers:
                filled = emit.buffer(prepared.name, prepared.shape, prepared.dtype)
                prepare(buffers[WEIGHT], filled)
                buffers[WEIGHT] = filled
                main(buffers)
    return made[0]


def prepared_weights(module: Any) -> Argument | None:
    """The tensor that ``prepare`` of a program lays out; None where there is no such function."""
    names = {variable.name_hint: variable for variable in module.get_global_vars()}
    if PREPARE not in names:
        return None
    _, prepared = module[names[PREPARE]].params
    return Argument("prepared", tuple(map(int, prepared.shape)), str(prepared.dtype))
