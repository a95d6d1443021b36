"""Figures of several runs with their standard errors: a few runs differ by chance alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A figure of ``runs`` runs with its standard error; 0, which says nothing, of a single one."""

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
        """The same of a standard deviation over so many runs."""
        return cls(deviation, deviation / math.sqrt(2 * max(1, runs - 1)), runs)


def mean_over(estimates: Iterable[Estimate]) -> Estimate:
    """The mean of one or more figures, over workloads say, whose errors have nothing in common."""
    known = list(estimates)
    return Estimate(
        math.fsum(each.value for each in known) / len(known),
        math.hypot(*(each.error for each in known)) / len(known),
        min(each.runs for each in known),
    )


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
