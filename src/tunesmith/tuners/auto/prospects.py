"""Candidates with what the model says of them, and the choice among these."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tunesmith.models.acquisition import expected_improvement
from tunesmith.models.gaussian_process import Posterior
from tunesmith.space import Config
from tunesmith.tuners.auto.neighbourhood import Choices
from tunesmith.tuners.auto.observations import Standardised

Array = npt.NDArray[np.float64]

# However sure the model is that a config fails, it is not ruled out.
_LEAST_CHANCE = 0.02


@dataclass
class Prospects:
    """Candidates with their posterior, whose three functions are the value beyond the ``trend``,
    the logarithm of a trial's cost beyond the mean ``cost``, and whether it works: 1 or 0, beyond
    the ``share`` that does.

    ``values`` are those of the observations, ``best`` is the best of the region, ``taken`` how many
    were taken.
    """

    candidates: Choices
    posterior: Posterior
    values: Standardised
    trend: Array
    cost: float
    share: float
    best: float
    taken: int = 0

    def take(self, seen: Container[Config]) -> int | None:
        """The index of the new one with the most expected improvement per second, times the chance
        that it works; None if none is new.

        The posterior then treats its mean as observed.
        """
        means = self.posterior.means
        gains = self.best - self.trend - means[:, 0]
        improvement = expected_improvement(gains, self.posterior.deviations)
        if self.share < 1.0:
            improvement *= np.clip(self.share + means[:, 2], _LEAST_CHANCE, 1.0)
        worth = improvement / np.exp(means[:, 1])
        for _ in range(len(worth)):
            number = int(np.argmax(worth))
            if self.candidates.configs[number] not in seen:
                self.posterior.expect(number)
                self.taken += 1
                return number
            worth[number] = -np.inf
        return None

    def predicted(self, number: int) -> Array:
        """What the model says of a candidate, in units that stay as they are: the logarithms of the
        seconds of a call and of a trial, and the chance that it works; shape (3,)."""
        value, cost, works = self.posterior.means[number]
        log = self.values.log_of(float(value + self.trend[number]))
        return np.array([log, self.cost + cost, self.share + works])
