"""Which programs of a network's tasks are worth timing inside of the network."""

from __future__ import annotations

from collections.abc import Mapping

from tunesmith.networks.build.growth import Option
from tunesmith.networks.build.selection import Choice, Origin
from tunesmith.task import Task

CONTENDERS = 4
"""How many programs of a task a build compares inside of the network by default."""

# Programs that are thought this much slower than the best of a task stay out.
_MARGIN = 2.0
# Tasks that take less of a call are not worth the time.
_WORTH_COMPARING = 0.005
# The weights of all programs take at most so many bytes, as they are in memory together.
_MOST_BYTES = 4 << 30


def contenders(
    costs: Mapping[Task, Mapping[Choice, Option]], count: int
) -> Mapping[Task, list[Choice]]:
    """Up to ``count`` programs of each task, the best first; at least one.

    The one with the least weights, the model's favourite and the best of each sketch come before
    others: trials of a program alone say little of what a network does to it. ``costs`` has what
    each costs the network, as far as that is known.
    """
    least = {task: min(option.seconds for option in each.values()) for task, each in costs.items()}
    whole, room = sum(least.values()), _MOST_BYTES
    found: dict[Task, list[Choice]] = {}
    for task, each in costs.items():
        wanted = count if least[task] >= _WORTH_COMPARING * whole else 1
        found[task] = []
        for choice in _ranked(each, _MARGIN * least[task])[:wanted]:
            room -= each[choice].bytes
            if room >= 0 or not found[task]:
                found[task].append(choice)
    return found


def _ranked(costs: Mapping[Choice, Option], slowest: float) -> list[Choice]:
    """Programs by how much there is to expect of them, each once."""
    by_seconds = sorted(costs, key=lambda choice: costs[choice].seconds)
    smallest = min(by_seconds, key=lambda choice: costs[choice].bytes)
    close = [choice for choice in by_seconds if costs[choice].seconds <= slowest]
    favourite = [choice for choice in close if choice.origin is Origin.MODEL][:1]
    first_of_sketch: dict[str, Choice] = {}
    for choice in close:
        first_of_sketch.setdefault(choice.problem.sketch.name, choice)
    return list(
        dict.fromkeys([by_seconds[0], smallest, *favourite, *first_of_sketch.values(), *close])
    )
