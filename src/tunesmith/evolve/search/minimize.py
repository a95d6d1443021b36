"""Which edits of an individual matter: the others are dropped; and which depend on each other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.representation import Representation

Evaluate = Callable[[tuple[Edit, ...]], Evaluation]
"""Evaluates edits, again each time it is asked."""

TOLERANCE = 0.02
"""How much slower, as a share, a program may be that has fewer edits: that is what times vary."""


def minimized(
    representation: Representation,
    edits: Sequence[Edit],
    evaluate: Evaluate,
    tolerance: float = TOLERANCE,
) -> tuple[Edit, ...]:
    """The edits without those that change nothing: neither the time, but for the tolerance, nor the
    error for the worse. Halves are tried first, then quarters, down to single ones. What seems to
    change nothing is evaluated twice."""
    left = _effective(representation, tuple(edits))
    goals = [evaluate(left) for _ in range(3)]
    goal = goals[0]
    limit = statistics.median(each.ratio for each in goals) * (1 + tolerance)
    size = max(1, len(left) // 2)
    while left:
        dropped = False
        first = 0
        while first < len(left):
            fewer = left[:first] + left[first + size :]
            if all(_as_good(evaluate(fewer), goal.error, limit) for _ in range(2)):
                left, dropped = fewer, True
            else:
                first += size
        if size == 1 and not dropped:
            break
        size = max(1, size // 2)
    return left


def _as_good(found: Evaluation, error: float, ratio: float) -> bool:
    return found.within(error) and found.ratio <= ratio


def _effective(representation: Representation, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits without those whose removal leaves the very same program."""
    text = representation.apply(edits)
    for edit in reversed(edits):
        fewer = tuple(each for each in edits if each is not edit)
        try:
            if representation.apply(fewer) == text:
                edits = fewer
        except InvalidEditError:
            continue
    return edits


@dataclass(frozen=True)
class Dependence:
    """Two edits, by number, of which the ``first`` alone gains ``alone``, as a share of the time of
    the original, and after the ``second`` gains ``together``; NaN where one without the other is no
    valid program."""

    first: int
    second: int
    alone: float
    together: float


def dependences(
    edits: Sequence[Edit], evaluate: Evaluate, error_limit: float, tolerance: float = TOLERANCE
) -> list[Dependence]:
    """The pairs of edits whose gains do not add up: an ablation of all pairs."""

    def time(*chosen: int) -> float:
        found = evaluate(tuple(edits[number] for number in sorted(chosen)))
        return found.ratio if found.within(error_limit) else float("nan")

    single = [time(number) for number in range(len(edits))]
    found = []
    for first in range(len(edits)):
        for second in range(first + 1, len(edits)):
            alone = 1.0 - single[first]
            together = single[second] - time(first, second)
            if not abs(alone - together) <= 2 * tolerance:  # NaN too
                found.append(Dependence(first, second, alone, together))
    return found
