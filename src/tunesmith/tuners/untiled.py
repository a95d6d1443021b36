"""The untiled config: the start of searches over the graph of configs."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping

from tunesmith.features.ties import Tie, ties_of
from tunesmith.space import Config, Factorization, Parameter, Space, Value

_LOGGER = logging.getLogger("tunesmith")

# The most combinations of a tie's parameters to try for one that meets its constraints.
_MOST_COMBINATIONS = 5000


def untiled_config(space: Space) -> Config | None:
    """The config without any tiling, or the valid config the fewest steps away from it.

    Loops are not split: [C, 1, 1, …], which is where G-BFS and N-A2C start ("Compiler-Level Matrix
    Multiplication Optimization for Deep Learning", section 4). Ordinals have their lowest value,
    permutations and categories the first one given. Steps may pass through invalid configs; None if
    there is no valid one among the first few thousand.
    """
    values = {parameter.name: _least(parameter) for parameter in space.parameters}
    for tie in ties_of(space):
        allowed = _nearest_allowed(tie, values)
        if allowed is None:
            return None
        values.update(allowed)
    return Config.from_values(values)


def start_of(tuner: str, space: Space) -> Config | None:
    """The untiled config for a tuner of that name; where there is none, a remark says so."""
    untiled = untiled_config(space)
    if untiled is None:
        _LOGGER.warning(
            "tunesmith: tuner '%s': the space has no untiled config, so it starts at a random one",
            tuner,
        )
    return untiled


def _least(parameter: Parameter) -> Value:
    if isinstance(parameter, Factorization):
        return (parameter.product, *[1] * (parameter.parts - 1))
    return parameter.value_at(0)


def _nearest_allowed(tie: Tie, start: Mapping[str, Value]) -> dict[str, Value] | None:
    """The values that a tie allows, the fewest steps away from ``start``."""
    names = [parameter.name for parameter in tie.parameters]
    first = tuple(start[name] for name in names)
    known = {first}
    ahead = deque([first])
    while ahead:
        values = ahead.popleft()
        named = dict(zip(names, values, strict=True))
        if tie.allows(named):
            return named
        if len(known) < _MOST_COMBINATIONS:
            around = [near for near in _steps_from(tie, values) if near not in known]
            known.update(around)
            ahead.extend(around)
    return None


def _steps_from(tie: Tie, values: tuple[Value, ...]) -> list[tuple[Value, ...]]:
    """These values after one step of one parameter, allowed or not."""
    return [
        (*values[:place], value, *values[place + 1 :])
        for place, parameter in enumerate(tie.parameters)
        for value in parameter.neighbours(values[place])
    ]
