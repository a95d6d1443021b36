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

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config, Space
from tunesmith.testing.learning import LearningConformance
from tunesmith.testing.trials import (
    LARGE_SPACES,
    SMALL_SPACES,
    Cost,
    assert_fresh,
    distance_cost,
    drive,
    failed,
    measured,
    space_named,
)
from tunesmith.tuners import Search, Tuner


class TunerConformance(LearningConformance):
    """The tests. A subclass sets ``tuner`` and, where its algorithm differs, the flags.

    ``learns`` and ``learning_trials`` are those of ``LearningConformance``.
    """

    tuner: ClassVar[Tuner]
    #: It proposes every config of a space before it ends.
    complete: ClassVar[bool] = True
    #: Another seed gives other proposals.
    stochastic: ClassVar[bool] = True
    #: Trials of an ordinary run; more than a generation, a batch or what else the tuner has.
    trials: ClassVar[int] = 240

    def start(self, space: Space, seed: int = 0) -> Search:
        """A search by the tuner under test."""
        return self.tuner.start(space, seed)

    def run(self, space: Space, seed: int = 0, cost: Cost | None = None) -> list[Config]:
        """The proposals of an ordinary run."""
        cost = cost or distance_cost(space)
        return drive(self.start(space, seed), self.trials, lambda c: measured(c, cost(c)))

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

    def test_some_figures_are_infinite(self) -> None:
        space = space_named("mixed")
        odd = (float("inf"), 5e-324, 1.0, 1e308)

        def judge(config: Config) -> Measurement:
            return measured(config, odd[len(config.key) * 7 % len(odd)])

        assert_fresh(space, drive(self.start(space), self.trials, judge))

    # --- Seeds and settings

    @pytest.mark.parametrize("name", ["mixed", "constrained", "fifteen points"])
    def test_the_same_seed_gives_the_same_proposals(self, name: str) -> None:
        space = space_named(name)
        assert self.run(space, seed=3) == self.run(space, seed=3)

    def test_another_seed_gives_other_proposals(self) -> None:
        space = space_named("mixed")
        assert (self.run(space, seed=3) != self.run(space, seed=4)) == self.stochastic

    def test_searches_of_one_tuner_do_not_disturb_each_other(self) -> None:
        space = space_named("mixed")
        cost = distance_cost(space)
        alone = self.run(space, seed=5)
        one, other = self.start(space, seed=5), self.start(space, seed=6)
        together: list[Config] = []
        while len(together) < self.trials:
            other.observe([failed(config) for config in other.propose(8)])
            configs = one.propose(min(8, self.trials - len(together)))
            if not configs:
                break
            together += configs
            one.observe([measured(config, cost(config)) for config in configs])
        assert together == alone

    def test_the_settings_are_immutable_and_survive_pickling(self) -> None:
        assert pickle.loads(pickle.dumps(self.tuner)) == self.tuner
        assert hash(self.tuner) == hash(dataclasses.replace(self.tuner))
        assert type(self.tuner).__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert self.tuner.name

    def test_another_process_makes_the_same_proposals_and_needs_no_tvm(self) -> None:
        """Nor may they depend on the order of a set, which another hash seed changes."""
        program = (
            "import json, pickle, sys\n"
            "from tunesmith.testing.trials import distance_cost, drive, measured, space_named\n"
            "tuner, trials = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
            "space = space_named('mixed')\n"
            "cost = distance_cost(space)\n"
            "run = drive(tuner.start(space, 7), trials, lambda c: measured(c, cost(c)))\n"
            "print(json.dumps([[config.key for config in run], 'tvm' in sys.modules]))\n"
        )
        pickled = pickle.dumps((self.tuner, self.trials)).hex()
        result = subprocess.run(
            [sys.executable, "-c", program, pickled],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
                "PYTHONHASHSEED": "12345",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        keys, has_tvm = json.loads(result.stdout)
        assert not has_tvm, "the tuner imports TVM"
        assert keys == [config.key for config in self.run(space_named("mixed"), seed=7)]
