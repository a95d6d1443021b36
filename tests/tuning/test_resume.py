"""A second call continues where the first one ended."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scripted import Scripted, config, failing_at, number, stored, trials_of
from tunesmith.budget import Budget, Stop
from tunesmith.measurement import Outcome
from tunesmith.store import Store, open_store
from tunesmith.tuning.tune import tune


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


@given(
    tuners=st.lists(st.sampled_from(["random", "grid", "genetic"]), min_size=2, max_size=3),
    step=st.integers(1, 15),
    default=st.sampled_from([None, 7]),
    batch=st.integers(1, 6),
)
def test_runs_that_follow_each_other_are_like_one(
    *, tuners: list[str], step: int, default: int | None, batch: int
) -> None:
    problem = Scripted(
        size=30,
        batch=batch,
        default=None if default is None else config(default),
        seconds=lambda n: math.inf if n % 5 == 0 else 100.0 - n,
    )
    with open_store("sqlite://") as store:
        for index, tuner in enumerate(tuners):
            before = len(problem.log)
            result = tune(problem, tuner, Budget(trials=step * (index + 1)), store=store)
            assert result.resumed == before
            assert result.trials == len(problem.log) == min(30, step * (index + 1))
            assert sum(result.outcomes.values()) == result.trials
        assert trials_of(stored(store)) == list(map(number, problem.log))
        assert len(set(problem.log)) == len(problem.log), "no config is tried again"


def test_trials_of_earlier_runs_count(store: Store) -> None:
    problem = Scripted(default=config(5))
    first = tune(problem, "grid", Budget(trials=4), store=store)
    again = tune(problem, "grid", Budget(trials=4), store=store)
    assert (again.stopped, again.trials, again.resumed) == (Stop.TRIALS, 4, 4)
    assert len(problem.log) == 4
    assert again.best is not None
    assert first.best is not None
    assert again.best.measurement == first.best.measurement
    assert again.default is not None
    assert again.default.config == config(5)


def test_all_of_a_space_was_tried_before(store: Store) -> None:
    problem = Scripted(size=4)
    tune(problem, "random", store=store)
    again = tune(problem, "random", store=store)
    assert (again.stopped, again.resumed, len(problem.log)) == (Stop.EXHAUSTED, 4, 4)


def test_an_interrupted_run_goes_on(store: Store) -> None:
    problem = Scripted(size=10, before=failing_at(6, KeyboardInterrupt()), default=config(2))
    assert tune(problem, "genetic", store=store).stopped is Stop.INTERRUPTED
    rest = tune(problem, "genetic", store=store)
    assert (rest.resumed, rest.trials, rest.stopped) == (6, 10, Stop.EXHAUSTED)
    assert sorted(map(number, problem.log)) == list(range(1, 11))
    assert [session.stopped for session in store.sessions("scripted")] == [
        "interrupted",
        "exhausted",
    ]


def test_patience_is_that_of_this_call(store: Store) -> None:
    problem = Scripted()  # the first config is the best
    tune(problem, "grid", Budget(patience=3), store=store)
    again = tune(problem, "grid", Budget(patience=3), store=store)
    assert (again.stopped, again.resumed, again.trials) == (Stop.PATIENCE, 4, 7)


def test_a_target_reached_before_needs_no_trial(store: Store) -> None:
    problem = Scripted()
    tune(problem, "grid", Budget(trials=3), store=store)
    again = tune(problem, "grid", Budget(target_seconds=1.0), store=store)
    assert (again.stopped, again.trials) == (Stop.TARGET, 3)


def test_the_measurer_is_told_the_best_time_so_far(store: Store) -> None:
    problem = Scripted(seconds=lambda n: n + 1.0)
    tune(problem, "grid", Budget(trials=3), store=store)
    tune(problem, "grid", Budget(trials=5), store=store)
    assert problem.known_best == [math.inf, 2.0, 2.0, 2.0, 2.0]


def test_a_fresh_run_knows_nothing(store: Store) -> None:
    problem = Scripted(default=config(3))
    tune(problem, "random", Budget(trials=6), store=store)
    fresh = tune(problem, "random", Budget(trials=6), store=store, fresh=True)
    assert (fresh.resumed, fresh.trials, fresh.stopped) == (0, 6, Stop.TRIALS)
    assert problem.log[:6] == problem.log[6:], "the same seed from the start"
    assert len(stored(store)) == 12, "and what was there stays"


def test_a_run_after_a_fresh_one_counts_all_trials(store: Store) -> None:
    problem = Scripted()
    tune(problem, "grid", Budget(trials=5), store=store)
    tune(problem, "grid", Budget(trials=5), store=store, fresh=True)
    third = tune(problem, "grid", Budget(trials=12), store=store)
    assert (third.resumed, third.trials) == (10, 12)
    assert list(map(number, problem.log[10:])) == [6, 7]


def test_another_version_of_the_sketch_begins_anew(store: Store) -> None:
    tune(Scripted(), "grid", Budget(trials=5), store=store)
    newer = tune(Scripted(version=2), "grid", Budget(trials=5), store=store)
    assert (newer.resumed, newer.trials) == (0, 5)


def test_another_problem_begins_anew(store: Store) -> None:
    tune(Scripted(), "grid", Budget(trials=5), store=store)
    other = tune(Scripted(key="other"), "grid", Budget(trials=3), store=store)
    assert (other.resumed, other.trials) == (0, 3)


def test_failures_are_not_tried_again(store: Store) -> None:
    problem = Scripted(size=6, seconds=lambda n: math.inf)
    tune(problem, "grid", Budget(trials=3), store=store)
    rest = tune(problem, "grid", store=store)
    assert rest.outcomes == {Outcome.RUNTIME_DEVICE: 6}
    assert len(problem.log) == 6


# --- What a play-off found out is not forgotten

TRIALS = {1: 1.0, 2: 1.05, 3: 1.1, 4: 1.4, 5: 1.02}
TRUTH = {1: 1.3, 2: 1.1, 3: 1.2, 4: 1.4, 5: 1.25}


def noisy() -> Scripted:
    return Scripted(
        seconds=lambda n: TRIALS[n],
        again=lambda n: TRUTH[n],
        size=5,
        finalists=3,
        default=config(4),
    )


def test_a_run_with_nothing_new_repeats_what_was_confirmed(store: Store) -> None:
    problem = noisy()
    first = tune(problem, "grid", Budget(trials=4), store=store)
    rounds = len(problem.rounds)
    again = tune(problem, "grid", Budget(trials=4), store=store)
    assert len(problem.rounds) == rounds, "no play-off without a new trial"
    assert first.best is not None
    assert again.best is not None
    assert (again.best.config, again.best.seconds) == (config(2), 1.1)
    assert again.best.measurement == first.best.measurement
    assert again.default is not None
    assert first.default is not None
    assert again.default.measurement == first.default.measurement


def test_a_lucky_trial_is_not_the_time_to_beat(store: Store) -> None:
    problem = noisy()
    tune(problem, "grid", Budget(trials=4), store=store)
    result = tune(problem, "grid", Budget(trials=5), store=store)
    assert problem.known_best[4] == 1.1
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(2), 1.1)
    best = store.best("scripted")
    assert best is not None
    assert best.config == config(2)


def test_who_failed_in_a_play_off_stays_out(store: Store) -> None:
    problem = Scripted(
        seconds=lambda n: TRIALS[n],
        again=lambda n: math.inf if n == 1 else TRUTH[n],
        size=5,
        finalists=3,
    )
    tune(problem, "grid", Budget(trials=4), store=store)
    again = tune(problem, "grid", Budget(trials=4), store=store)
    assert again.best is not None
    assert again.best.config == config(2)


def test_a_fresh_run_forgets_the_play_off_too(store: Store) -> None:
    problem = noisy()
    tune(problem, "grid", Budget(trials=4), store=store)
    fresh = tune(problem, "grid", Budget(trials=1), store=store, fresh=True)
    assert fresh.best is not None
    assert fresh.best.config == config(4)


def test_earlier_finalists_take_part_again(store: Store) -> None:
    trials = {1: 1.0, 2: 1.05, 3: 1.1, 4: 1.4, 5: 1.08}
    truth = {1: 1.4, 2: 1.1, 3: 1.12, 4: 1.4, 5: 1.08}
    problem = Scripted(
        seconds=lambda n: trials[n],
        again=lambda n: truth[n],
        size=5,
        finalists=3,
        default=config(4),
    )
    tune(problem, "grid", Budget(trials=4), store=store)
    done = len(problem.rounds)
    tune(problem, "grid", Budget(trials=5), store=store)
    assert set(map(number, problem.rounds[done:])) == {2, 3, 5, 4}, "the close, and the default"


def test_a_winner_is_known_though_other_trials_were_luckier(store: Store) -> None:
    trials = {1: 1.0, 2: 1.05, 3: 1.01, 4: 1.02}
    truth = {1: 1.4, 2: 1.1, 3: 1.3, 4: 1.35}
    problem = Scripted(seconds=lambda n: trials[n], again=lambda n: truth[n], size=4, finalists=2)
    for budget in (2, 4, 4):
        result = tune(problem, "grid", Budget(trials=budget), store=store)
        assert result.best is not None
        assert (result.best.config, result.best.seconds) == (config(2), 1.1)


def test_of_nothing_but_a_failure_in_a_play_off_there_is_no_best(store: Store) -> None:
    problem = Scripted(size=1, seconds=lambda n: 1.0, again=lambda n: math.inf, finalists=1)
    tune(problem, "grid", store=store)
    assert tune(problem, "grid", store=store).best is None
