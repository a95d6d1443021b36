"""Good configs to start a search with, by an estimate that costs next to nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tunesmith.errors import NoConfigFoundError
from tunesmith.space import Config, Space
from tunesmith.tuners.view import View

# Only so many of the best are looked at for some that are unlike each other.
_POOL = 400

# By how much a copy of a start is thought slower than estimated, so that others come first.
_ALIKE = 0.5


class Start(NamedTuple):
    """A config to try early, and the seconds that it was estimated at."""

    config: Config
    estimate: float


@dataclass(frozen=True)
class StartFinder:
    """Finds configs that an estimate likes: the best of many random ones, and of those around them.

    ``samples`` random configs are estimated first. Then the neighbours of ``beam`` of the best are,
    each unlike the others, at most ``neighbours`` of each, until a round finds nothing better, and
    for ``rounds`` at most. All bounds are counts, not seconds, so that the same seed finds the same
    configs on any machine.
    """

    samples: int = 1000
    beam: int = 6
    neighbours: int = 40
    rounds: int = 8

    def find(self, view: View, count: int, seed: int) -> list[Start]:
        """Up to ``count`` starts, the best first; none where there are no estimates."""
        return diverse(self.estimated(view, seed), count)

    def estimated(self, view: View, seed: int) -> list[Start]:
        """All configs that are estimated on the way; none where there are no estimates, or where
        random configs are not to be found, as hardly any is valid."""
        if not view.has_estimates:
            return []
        rng = np.random.default_rng(seed)
        known: dict[Config, float] = {}
        try:
            _estimate(known, view, view.space.sample_many(self.samples, rng))
        except NoConfigFoundError:
            return []
        expanded: set[Config] = set()
        for _ in range(self.rounds):
            best = diverse(_starts(known), self.beam)
            around = [start.config for start in best if start.config not in expanded]
            if not around:
                break
            expanded.update(around)
            near = [self._some_neighbours(view.space, config, rng) for config in around]
            _estimate(known, view, chain.from_iterable(near))  # a model takes as long for few
        return _starts(known)

    def _some_neighbours(
        self, space: Space, config: Config, rng: np.random.Generator
    ) -> Sequence[Config]:
        around = space.neighbours(config)
        if len(around) <= self.neighbours:
            return around
        return [around[i] for i in rng.choice(len(around), self.neighbours, replace=False)]


def _estimate(known: dict[Config, float], view: View, configs: Iterable[Config]) -> None:
    """Add the estimates of configs to those known; NaN where there is no idea."""
    new = list(dict.fromkeys(config for config in configs if config not in known))
    estimates = view.estimates(new)
    assert estimates is not None
    known.update(zip(new, estimates.tolist(), strict=True))


def _starts(known: dict[Config, float]) -> list[Start]:
    return [Start(config, time) for config, time in known.items() if math.isfinite(time)]


def diverse(starts: Sequence[Start], count: int) -> list[Start]:
    """``count`` of the best, but each unlike those before it.

    No estimate is exact, so a config somewhat further down that is made differently is worth more
    than a near copy of the best.
    """
    pool = _unlike(starts)[:_POOL]
    if not pool:
        return []
    values = _numbered_values([start.config for start in pool])
    estimates = np.array([start.estimate for start in pool])
    alike = np.zeros(len(pool))
    left = np.arange(len(pool))
    chosen: list[Start] = []
    while len(left) and len(chosen) < count:
        place = int(np.argmin(estimates[left] * (1 + _ALIKE * alike[left])))
        number = left[place]
        chosen.append(pool[number])
        alike = np.maximum(alike, (values == values[number]).mean(axis=1))
        left = np.delete(left, place)
    return chosen


def _numbered_values(configs: Sequence[Config]) -> npt.NDArray[np.int64]:
    """The values as numbers that tell those of a parameter apart, shape (configs, parameters)."""
    names = list(configs[0])
    rows = np.empty((len(configs), len(names)), dtype=np.int64)
    for place, values in enumerate(zip(*(each.values_of(names) for each in configs), strict=True)):
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
        rows[:, place] = [*map(numbers.__getitem__, values)]
    return rows


def _unlike(starts: Sequence[Start]) -> list[Start]:
    """Best first, and of those with the same estimate one: the estimate sees no difference."""
    by_estimate = {start.estimate: start for start in reversed(starts)}
    return sorted(by_estimate.values(), key=lambda start: start.estimate)
