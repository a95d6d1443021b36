"""Chooses among programs whose prepared weights differ in size: the fastest ones within a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# The bytes that may be shared out are counted in so many units, in whole ones.
_UNITS = 4096


class Option(NamedTuple):
    """One program for all layers of a task: their seconds of a call, and the bytes of their
    weights. Of these, ``shared`` ones are in memory once for all tasks that read them as they
    are."""

    seconds: float
    bytes: int
    shared: int = 0


def fastest_with_shared(
    options: Sequence[Sequence[Option]], limit: float, shared: int
) -> list[int] | None:
    """Like ``fastest_within``, where tasks share so many bytes of weights as these are.

    Either those are counted once, whether all tasks lay them out or not; or for each task, which is
    less if all do. So the limit is kept in both cases, and the faster one is taken.
    """
    found = [fastest_within(options, limit)]
    if shared:
        once = [[Option(it.seconds, it.bytes - it.shared) for it in task] for task in options]
        found.append(fastest_within(once, limit - shared))

    def seconds(numbers: Sequence[int]) -> float:
        return sum(task[number].seconds for task, number in zip(options, numbers, strict=True))

    return min((it for it in found if it is not None), key=seconds, default=None)


def fastest_within(options: Sequence[Sequence[Option]], limit: float) -> list[int] | None:
    """Of each task the number of one option, so that the bytes of all are at most ``limit`` and the
    seconds as few as possible; None if even the smallest are larger.

    This is the multiple-choice knapsack problem, solved by dynamic programming over the bytes
    beyond the smallest options (Kellerer, Pferschy and Pisinger, "Knapsack Problems", section
    11.5). Those are rounded up to a unit of 1/4096 of what there is, so that the limit is kept and
    the result may miss the optimum by what rounding costs.
    """
    room = limit - sum(min(option.bytes for option in task) for task in options)
    if room < 0:
        return None
    units = [_units(task, room) for task in options]
    # For each number of units: the least seconds of the tasks so far, and the choice that made it.
    best = np.zeros(_UNITS + 1)
    chosen = []
    for task, wanted in zip(options, units, strict=True):
        sums = np.full((len(task), _UNITS + 1), np.inf)
        for number, (option, unit) in enumerate(zip(task, wanted, strict=True)):
            if unit <= _UNITS:
                sums[number, unit:] = best[: _UNITS + 1 - unit] + option.seconds
        chosen.append(sums.argmin(axis=0))
        best = sums.min(axis=0)
    left = int(best.argmin())
    numbers = []
    for of_task, wanted in zip(reversed(chosen), reversed(units), strict=True):
        number = int(of_task[left])
        numbers.append(number)
        left -= wanted[number]
    return numbers[::-1]


def smallest(options: Sequence[Sequence[Option]]) -> list[int]:
    """Of each task the number of the option with the fewest bytes, the fastest of equals."""
    return [
        min(range(len(task)), key=lambda number: (task[number].bytes, task[number].seconds))
        for task in options
    ]


def _units(task: Sequence[Option], room: float) -> list[int]:
    """How many units each option takes beyond the smallest; more than there are if it is too
    large."""
    least = min(option.bytes for option in task)
    found = []
    for option in task:
        extra = option.bytes - least
        if extra > room:
            found.append(_UNITS + 1)
        else:
            found.append(int(np.ceil(extra / room * _UNITS)) if np.isfinite(room) and extra else 0)
    return found
