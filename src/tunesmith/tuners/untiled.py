"""Where a search over the graph of configs begins when nothing is known: with a program untiled."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from tunesmith.features.ties import Tie, ties_of
from tunesmith.space import Config, Factorization, Parameter, Space, Value

# Combinations looked at, of parameters that constraints tie together, for one that meets them.
_LOOKED_AT = 5000


def untiled_config(space: Space) -> Config | None:
    """The config that does the least, or the valid one that is the fewest steps away from it.

    Each loop is in one piece: [C, 1, 1, …], as G-BFS and N-A2C start ("Compiler-Level Matrix
    Multiplication Optimization for Deep Learning", section 4). Ordinals have their lowest value,
    permutations and categories the one that is given first. Steps may lead through configs that
    break constraints; None where the first thousands of them have no valid one.
    """
    values = {parameter.name: _least(parameter) for parameter in space.parameters}
    for tie in ties_of(space):
        allowed = _nearest_allowed(tie, values)
        if allowed is None:
            return None
        values.update(allowed)
    return Config.from_values(values)


def _least(parameter: Parameter) -> Value:
    if isinstance(parameter, Factorization):
        return (parameter.product, *[1] * (parameter.parts - 1))
    return parameter.value_at(0)


def _nearest_allowed(tie: Tie, start: Mapping[str, Value]) -> dict[str, Value] | None:
    """Values of a tie's parameters that it allows, as few steps from ``start`` as can be."""
    names = [parameter.name for parameter in tie.parameters]
    first = tuple(start[name] for name in names)
    known = {first}
    ahead = deque([first])
    while ahead:
        values = ahead.popleft()
        named = dict(zip(names, values, strict=True))
        if tie.allows(named):
            return named
        if len(known) < _LOOKED_AT:
            around = [near for near in _steps_from(tie, values) if near not in known]
            known.update(around)
            ahead.extend(around)
    return None


def _steps_from(tie: Tie, values: tuple[Value, ...]) -> list[tuple[Value, ...]]:
    """What one step of one parameter makes of these values, allowed or not."""
    return [
        (*values[:place], value, *values[place + 1 :])
        for place, parameter in enumerate(tie.parameters)
        for value in parameter.neighbours(values[place])
    ]
