"""A case: a program, its tests, and what the papers or we expect of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.evolve.evaluation.harness import ErrorOf, relative
from tunesmith.evolve.evaluation.subject import Evolvable
from tunesmith.evolve.search.nsga2 import SearchSettings


@dataclass(frozen=True)
class Tested:
    """A program, the tests of the search, and those that it never sees."""

    program: Evolvable
    tests: Sequence[Any]
    heldout: Sequence[Any]
    error_of: ErrorOf = relative


@dataclass(frozen=True)
class Case:
    """``make`` builds it, data included. ``error`` is how wrong a program may be; None: not at all.
    The one that the case's figures are of may be wrong by ``figure_error``, if that is less.
    ``wanted`` says in words what would be good, ``claim`` what the paper has, if it has it.

    ``timeout`` is the seconds of an evaluation, and ``search`` how the search is set.
    """

    name: str
    title: str
    about: str
    make: Callable[[], Tested]
    error: float | None
    wanted: str
    claim: str = ""
    figure_error: float = math.inf
    timeout: float = 10.0
    search: SearchSettings = SearchSettings()  # noqa: RUF009 # which is frozen

    @property
    def allowed(self) -> float:
        """How wrong the program of the figures may be, on the tests and on those held out."""
        return min(self.error or 0.0, self.figure_error)

    @property
    def objectives(self) -> tuple[str, ...]:
        """What is searched for."""
        return ("time",) if self.error is None else ("time", "error")


def extra_error(outputs: Sequence[Any], golden: Sequence[Any]) -> float:
    """By how much accuracies, the outputs, are below those of the original: the largest drop;
    negative where all are above."""
    drops = [float(other) - float(each) for each, other in zip(outputs, golden, strict=True)]
    # NaN, an accuracy that is none, is worse than all.
    return max(drop if drop == drop else 1.0 for drop in drops)  # noqa: PLR0124
