"""The part of the tuners' conformance suite that asks whether a tuner learns."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest

from tunesmith.measurement import Measurement
from tunesmith.space import Config
from tunesmith.testing.suite import TunerSuite
from tunesmith.testing.trials import distance_cost, drive, failed, measured, space_named
from tunesmith.tuners import Random, Search, Tuner

_SEEDS = 5


class LearningConformance(TunerSuite):
    """Tests that compare a tuner with random search, by the median best of several seeds."""

    def test_it_learns_from_a_smooth_problem(self) -> None:
        space = space_named("billions")

        def best(tuner: Tuner, seed: int) -> float:
            cost = distance_cost(space, seed)
            search = tuner.start(space, seed)
            run = drive(search, self.learning_trials, lambda c: measured(c, cost(c)))
            return min(map(cost, run))

        self._assert_better_than_random(best)

    def test_it_learns_where_half_fails_and_results_come_late_and_in_any_order(self) -> None:
        """Results given to the wrong config, or failures thought fast, lead astray here."""
        space = space_named("billions")

        def best(tuner: Tuner, seed: int) -> float:
            cost, trap = distance_cost(space, seed), distance_cost(space, seed + _SEEDS)

            def judge(config: Config) -> Measurement:
                seconds = cost(config)
                return measured(config, seconds) if seconds < trap(config) else failed(config)

            results = drive_late(tuner.start(space, seed), self.learning_trials, judge, seed)
            return min((result.seconds for result in results if result.valid), default=math.inf)

        self._assert_better_than_random(best)

    def _assert_better_than_random(self, best: Callable[[Tuner, int], float]) -> None:
        if not self.learns:
            pytest.skip("the tuner does not claim to learn")
        ours = statistics.median(best(self.tuner, seed) for seed in range(_SEEDS))
        random = statistics.median(best(Random(), seed) for seed in range(_SEEDS))
        assert ours < random, f"median best {ours}, random search {random}"


def drive_late(
    search: Search, trials: int, judge: Callable[[Config], Measurement], seed: int
) -> list[Measurement]:
    """All results of a run that keeps eight trials under way, of which any four end at a time."""
    rng = np.random.default_rng(seed)
    pending = search.propose(8)
    results: list[Measurement] = []
    while pending and len(results) < trials:
        order = rng.permutation(len(pending))
        ended = [judge(pending[place]) for place in order[:4]]
        pending = [pending[place] for place in order[4:]]
        search.observe(ended)
        results += ended
        pending += search.propose(4)
    return results
