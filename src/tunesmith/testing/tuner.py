"""The conformance suite of tuners: inherit it, name a tuner, and pytest does the rest.

::

    from tunesmith.testing.tuner import TunerConformance

    class TestMine(TunerConformance):
        tuner = Mine(population=20)
        learns = True

It checks what a tuning loop relies on, whatever the algorithm: see the names of its tests. Needs
pytest.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.testing.learning import LearningConformance
from tunesmith.testing.repeatable import RepeatableConformance
from tunesmith.testing.trials import (
    LARGE_SPACES,
    SMALL_SPACES,
    assert_fresh,
    distance_cost,
    drive,
    failed,
    measured,
    space_named,
)


class TunerConformance(RepeatableConformance, LearningConformance):
    """The tests. A subclass sets ``tuner`` and, where its algorithm differs, the flags."""

    # --- Proposals

    @pytest.mark.parametrize("name", LARGE_SPACES)
    def test_a_long_run_proposes_new_and_valid_configs_only(self, name: str) -> None:
        space = space_named(name)
        proposed = self.run(space)
        assert_fresh(space, proposed)
        if self.complete:
            assert len(proposed) == self.trials

    @pytest.mark.parametrize("batch", [1, 4, 100])
    @pytest.mark.parametrize("name", SMALL_SPACES)
    def test_a_small_space_ends_cleanly(self, name: str, batch: int) -> None:
        space = space_named(name)
        cost = distance_cost(space)
        search = self.start(space)
        proposed = drive(search, 1000, lambda c: measured(c, cost(c)), batch)
        assert_fresh(space, proposed)
        assert proposed
        if self.complete:
            assert set(proposed) == set(space.enumerate())
            assert search.propose(1) == []
            assert search.propose(5) == []

    def test_asked_for_more_than_is_left_it_returns_what_is_left(self) -> None:
        space = space_named("fifteen points")
        search = self.start(space)
        first = search.propose(6)
        search.observe([measured(config, 1.0) for config in first])
        rest = search.propose(1000)
        assert_fresh(space, first + rest)
        assert len(first) <= 6
        if self.complete:
            assert (len(first), len(rest)) == (6, 9)

    def test_asked_for_none_it_returns_none(self) -> None:
        search = self.start(space_named("mixed"))
        assert search.propose(0) == []
        assert len(search.propose(1)) == 1

    # --- Observations: late, out of order, in part, failed, foreign

    @pytest.mark.parametrize("name", ["mixed", "constrained"])
    def test_proposes_while_everything_is_pending(self, name: str) -> None:
        space = space_named(name)
        search = self.start(space)
        proposed: list[Config] = []
        for _ in range(self.trials // 6):
            configs = search.propose(6)
            assert configs, "no proposal means that the search is at its end"
            proposed += configs
        assert_fresh(space, proposed)
        cost = distance_cost(space)
        search.observe([measured(config, cost(config)) for config in proposed])
        assert_fresh(space, proposed + search.propose(20))

    def test_observations_come_late_out_of_order_and_in_part(self) -> None:
        space = space_named("constrained")
        cost = distance_cost(space)
        search = self.start(space)
        rng = np.random.default_rng(0)
        pending: list[Config] = []
        proposed: list[Config] = []
        for _ in range(self.trials // 4):
            new = search.propose(int(rng.integers(1, 9)))
            assert new, "no proposal means that the search is at its end"
            proposed += new
            pending += new
            pending = [pending[index] for index in rng.permutation(len(pending))]
            back = int(rng.integers(0, 5))
            search.observe([measured(config, cost(config)) for config in pending[:back]])
            pending = pending[back:]
        assert_fresh(space, proposed)
        assert pending, "the test is meant to end with trials under way"

    @pytest.mark.parametrize("name", ["mixed", "fifteen points"])
    def test_every_trial_fails(self, name: str) -> None:
        space = space_named(name)
        proposed = drive(self.start(space), self.trials, failed)
        assert_fresh(space, proposed)
        if self.complete:
            assert len(proposed) == min(self.trials, space.size)

    def test_trials_fail_in_every_way(self) -> None:
        space = space_named("mixed")
        cost = distance_cost(space)
        outcomes = list(Outcome)

        def judge(config: Config) -> Measurement:
            outcome = outcomes[len(config.key) * 7 % len(outcomes)]
            valid = outcome is Outcome.NO_ERROR
            return measured(config, cost(config)) if valid else failed(config, outcome)

        assert_fresh(space, drive(self.start(space), self.trials, judge))

    def test_configs_it_never_proposed_count_as_seen(self) -> None:
        space = space_named("fifteen points")
        known = list(space.enumerate())[3:12]
        search = self.start(space)
        search.observe([measured(config, 1.0 + i) for i, config in enumerate(known)])
        proposed = drive(search, 100, lambda c: measured(c, 20.0))
        assert_fresh(space, known + proposed)
        if self.complete:
            assert len(proposed) == 6

    def test_a_search_resumes_from_the_records_of_another(self) -> None:
        space = space_named("mixed")
        cost = distance_cost(space)
        records = self.run(space, seed=1)
        search = self.start(space, seed=1)
        search.observe([measured(config, cost(config)) for config in records])
        assert_fresh(space, records + drive(search, 60, lambda c: measured(c, cost(c))))

    def test_a_space_that_is_all_observed_has_nothing_to_propose(self) -> None:
        space = space_named("few valid")
        search = self.start(space)
        search.observe([measured(config, 1.0) for config in space.enumerate()])
        assert search.propose(3) == []

    def test_observing_twice_changes_nothing(self) -> None:
        space = space_named("mixed")
        cost = distance_cost(space)
        once, twice = self.start(space), self.start(space)
        for _ in range(self.trials // 8):
            configs = once.propose(8)
            assert twice.propose(8) == configs
            measurements = [measured(config, cost(config)) for config in configs]
            once.observe(measurements)
            twice.observe(measurements)
            twice.observe(measurements[::2])

    def test_what_it_observes_is_left_as_it_was(self) -> None:
        space = space_named("mixed")
        search = self.start(space)
        configs = search.propose(8)
        measurements = [measured(config, 1.0 + i) for i, config in enumerate(configs)]
        before = [(Config(m.config), m.run_seconds) for m in measurements]
        search.observe(measurements)
        drive(search, self.trials, lambda c: measured(c, 1.0))
        assert [(m.config, m.run_seconds) for m in measurements] == before
        assert all(space.contains(config) for config in configs)

    def test_what_it_proposed_is_left_as_it_was(self) -> None:
        space = space_named("mixed")
        cost = distance_cost(space)
        search = self.start(space)
        proposed: list[Config] = []
        copies: list[Config] = []
        for _ in range(self.trials // 6):
            configs = search.propose(6)
            proposed += configs
            copies += [Config(config) for config in configs]
            search.observe([measured(config, cost(config)) for config in configs])
        assert proposed == copies
        assert list(map(hash, proposed)) == list(map(hash, copies))

    def test_every_single_result_makes_room_for_a_proposal(self) -> None:
        """Failures too, which are two results of three here."""
        space = space_named("mixed")
        cost = distance_cost(space)
        search = self.start(space)
        pending = search.propose(6)
        proposed = list(pending)
        for trial in range(self.trials // 3):
            config = pending.pop(trial % len(pending))
            search.observe([failed(config) if trial % 3 else measured(config, cost(config))])
            new = search.propose(1)
            assert len(new) == 1
            pending += new
            proposed += new
        assert_fresh(space, proposed)

    # --- Odd figures

    @pytest.mark.parametrize("seconds", [1.0, 1e-300, 1e300])
    def test_all_configs_are_equally_fast(self, seconds: float) -> None:
        space = space_named("mixed")
        proposed = drive(self.start(space), self.trials, lambda c: measured(c, seconds))
        assert_fresh(space, proposed)
        assert proposed

    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_some_figures_make_no_sense(self) -> None:
        space = space_named("mixed")
        odd = (math.inf, 5e-324, 1.0, 1e308, math.nan, -1.0, 0.0)
        costs = (0.1, math.inf, math.nan, -1.0, 1e300)
        told: list[Measurement] = []

        def judge(config: Config) -> Measurement:
            """By turns, so that each time of a call comes with each cost."""
            number = len(told)
            told.append(
                replace(
                    measured(config, odd[number % len(odd)]),
                    build_time=costs[number % len(costs)],
                    run_time=costs[-1 - number % len(costs)],
                )
            )
            return told[-1]

        proposed = drive(self.start(space), self.trials, judge)
        assert_fresh(space, proposed)
        assert len(proposed) == self.trials
        assert {it.checked().valid for it in told} == {True, False}
