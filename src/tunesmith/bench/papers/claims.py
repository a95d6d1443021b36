"""When runs of two tuners show a difference, and when they show none.

A few runs differ by chance alone, so the page of the papers' experiments tells of a difference only
where it is larger than ``ERRORS`` standard errors of it, to which the spread of both sides adds,
and where each side has ``FEWEST`` runs, from which that spread is known at least roughly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

ERRORS = 2.0
FEWEST = 3

NO_DIFFERENCE = "these runs show no difference"


@dataclass(frozen=True)
class Estimate:
    """A figure of ``runs`` runs with its standard error, which is 0 where there is only one."""

    value: float
    error: float
    runs: int

    @classmethod
    def mean(cls, values: Sequence[float]) -> Estimate:
        """The mean of a figure that each run has."""
        error = _deviation(values) / math.sqrt(len(values))
        return cls(float(np.mean(values)), error, len(values))

    @classmethod
    def deviation(cls, values: Sequence[float]) -> Estimate:
        """The standard deviation of a figure that each run has; its error is that of a normal
        distribution's."""
        return cls.of_deviation(_deviation(values), len(values))

    @classmethod
    def of_deviation(cls, deviation: float, runs: int) -> Estimate:
        """A standard deviation over so many runs."""
        return cls(deviation, deviation / math.sqrt(2 * max(1, runs - 1)), runs)

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """A figure that is known."""
        return cls(value, 0.0, FEWEST)

    def over(self, other: Estimate) -> Estimate:
        """The ratio to another, which is not 0."""
        value = self.value / other.value
        error = math.hypot(self.error, value * other.error) / abs(other.value)
        return Estimate(value, error, min(self.runs, other.runs))

    def above(self, other: Estimate) -> bool:
        """Whether the runs show that this is larger."""
        enough = min(self.runs, other.runs) >= FEWEST
        return enough and self.value - other.value > ERRORS * math.hypot(self.error, other.error)

    def differs(self, other: Estimate) -> bool:
        """Whether the runs show that this is larger or smaller."""
        return self.above(other) or other.above(self)


def mean_over(estimates: Iterable[Estimate]) -> Estimate:
    """The mean of one or more figures, over workloads say, whose errors have nothing in common."""
    known = list(estimates)
    return Estimate(
        math.fsum(each.value for each in known) / len(known),
        math.hypot(*(each.error for each in known)) / len(known),
        min(each.runs for each in known),
    )


def too_few(runs: int) -> str:
    """That there are too few runs to show anything; nothing where there are enough."""
    if runs >= FEWEST:
        return ""
    return f"{'1 run is' if runs == 1 else f'{runs} runs are'} too few to show a difference"


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
