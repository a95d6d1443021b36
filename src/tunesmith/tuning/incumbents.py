"""The incumbents of a run: the best so far, and what else its measurements add up to."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter

from tunesmith.measurement import Candidate, Measurement, Outcome


class Incumbents:
    """Counts, the best few, and the default's measurement. Keeps no more than those.

    ``best_seconds`` is infinite while nothing valid was found; ``since_improvement`` counts the
    trials since it last fell, ``repeated`` those whose program had been measured before.
    ``failures`` has what the last trial of each failing class said, ``best_of_sketch`` the best of
    each sketch by its name. ``champion`` is the best that is known from before the trials.
    ``favourite`` is the trial of the ``liked`` candidate, the start that a model likes most.
    """

    def __init__(self, default: Candidate | None, finalists: int) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.repeated = 0
        self.failures: dict[Outcome, str] = {}
        self.best_of_sketch: dict[str, Measurement] = {}
        self.best_seconds = math.inf
        self.since_improvement = 0
        self.default: Measurement | None = None
        self.champion: Measurement | None = None
        self.liked: Candidate | None = None
        self.favourite: Measurement | None = None
        self._default_candidate = default
        self._room = max(1, finalists)
        self._best: list[tuple[float, int, Measurement]] = []
        self._order = itertools.count()

    def count(self, measurement: Measurement) -> None:
        """Take in a trial."""
        self.outcomes[measurement.outcome] += 1
        self.repeated += measurement.repeated
        if measurement.candidate == self._default_candidate:
            self.default = measurement
        if measurement.candidate == self.liked:
            self.favourite = measurement
        self.since_improvement += 1
        if not measurement.valid:
            self.failures[measurement.outcome] = measurement.message
            return
        if measurement.seconds < self.best_seconds:
            self.best_seconds = measurement.seconds
            self.since_improvement = 0
        known = self.best_of_sketch.get(measurement.sketch)
        if known is None or measurement.seconds < known.seconds:
            self.best_of_sketch[measurement.sketch] = measurement
        if not measurement.repeated:  # else its program is among them already, or was too slow
            self._enter(measurement)

    def replace_best(self, measurements: list[Measurement]) -> None:
        """Forget the times of the best few in favour of these, each of them valid."""
        self._best = []
        for measurement in measurements:
            self._enter(measurement)
        self.champion = min(measurements, key=lambda m: m.seconds, default=None)
        self.best_seconds = math.inf if self.champion is None else self.champion.seconds

    def _enter(self, measurement: Measurement) -> None:
        heapq.heappush(self._best, (-measurement.seconds, next(self._order), measurement))
        if len(self._best) > self._room:
            heapq.heappop(self._best)

    @property
    def finalists(self) -> list[Measurement]:
        """The best few so far, best first."""
        return [measurement for _, _, measurement in sorted(self._best, reverse=True)]

    @property
    def trials(self) -> int:
        return self.outcomes.total()
