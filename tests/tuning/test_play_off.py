"""The play-off at the end of a run: the best few are measured again; luck picks no winner."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.scripted import Scripted, config, failing_at, number, stored, trials_of
from tunesmith.budget import Budget, Stop
from tunesmith.measurement import Measurement
from tunesmith.space import Config
from tunesmith.store import Store, open_store
from tunesmith.tuning.play_off import MARGIN as PLAY_OFF_MARGIN
from tunesmith.tuning.play_off import MAX_ROUNDS as PLAY_OFF_ROUNDS
from tunesmith.tuning.play_off import MIN_ROUNDS
from tunesmith.tuning.tune import tune


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


Floats = npt.NDArray[np.float64]

LUCKY = {1: 1.00, 2: 1.05, 3: 1.10, 4: 1.12, 5: 1.30}


def lucky(confirmed: dict[int, float], **others: Any) -> Scripted:
    """Configs whose order in the trials was luck; ``confirmed`` are their true seconds."""
    chosen = {"finalists": 4, **others}
    return Scripted(seconds=lambda n: LUCKY[n], again=lambda n: confirmed[n], size=5, **chosen)


def test_the_play_off_decides(store: Store) -> None:
    problem = lucky({1: 1.3, 2: 1.2, 3: 1.1, 4: 1.15})
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(3), 1.1)
    assert len(result.best.measurement.run_seconds) == PLAY_OFF_ROUNDS
    assert problem.rounds == list(map(config, (1, 2, 3, 4))) * PLAY_OFF_ROUNDS
    assert result.trials == 5, "rounds of a play-off are no trials"
    assert len(stored(store)) == 5
    assert trials_of(stored(store, play_off=True)) == [1, 2, 3, 4]
    best = store.best("scripted")
    assert best is not None
    assert best.measurement == result.best.measurement


def test_only_the_few_best_that_are_close_take_part(store: Store) -> None:
    confirmed = dict.fromkeys(LUCKY, 1.0)
    assert LUCKY[4] < PLAY_OFF_MARGIN * LUCKY[1] < LUCKY[5]
    assert set(rounds_of(lucky(confirmed, finalists=5))) == {1, 2, 3, 4}
    assert set(rounds_of(lucky(confirmed, finalists=2))) == {1, 2}
    assert rounds_of(lucky(confirmed, finalists=0)) == []


def rounds_of(problem: Scripted) -> Sequence[int]:
    tune(problem, "grid", store="sqlite://")
    return list(map(number, problem.rounds))


def test_the_default_takes_part_however_slow(store: Store) -> None:
    problem = lucky(dict.fromkeys(LUCKY, 1.0) | {5: 7.0}, finalists=2, default=config(5))
    result = tune(problem, "grid", store=store)
    assert set(map(number, problem.rounds)) == {1, 2, 5}
    assert result.default is not None
    assert result.default.seconds == 7.0
    assert result.best is not None
    assert result.best.seconds == 1.0


def test_the_default_may_win(store: Store) -> None:
    problem = lucky({1: 1.3, 2: 1.0}, finalists=2, default=config(2))
    result = tune(problem, "grid", store=store)
    assert problem.rounds == [config(1), config(2)] * PLAY_OFF_ROUNDS
    assert result.best is not None
    assert result.default is not None
    assert result.best.measurement == result.default.measurement


def test_the_default_may_win_though_its_trial_was_unlucky(store: Store) -> None:
    problem = lucky({1: 1.3, 2: 1.2, 5: 1.1}, finalists=2, default=config(5))
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(5), 1.1)
    best = store.best("scripted")
    assert best is not None
    assert best.config == config(5)


def test_who_would_take_all_of_the_time_stays_out_first(store: Store) -> None:
    """A measurer says that a round of one takes a week: of the others none is slower for that."""

    def reports(trial: Measurement) -> Measurement:
        return replace(trial, run_time=math.inf) if number(trial.config) == 2 else trial

    problem = lucky({1: 1.3, 2: 1.2, 3: 1.1, 4: 1.15}, reports=reports)
    result = tune(problem, "grid", store=store)
    assert problem.rounds == list(map(config, (1, 3, 4))) * PLAY_OFF_ROUNDS
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(3), 1.1)


@dataclass
class Estimated(Scripted):
    """With a model that likes the highest numbers most."""

    def estimates(self, configs: Sequence[Config]) -> Floats:
        return np.array([1.0 / number(config) for config in configs])


@pytest.mark.parametrize("prior", [True, False])
def test_what_the_model_likes_most_takes_part(store: Store, *, prior: bool) -> None:
    """Its trial came at a bad moment."""
    confirmed = {1: 1.0, 2: 1.0, 5: 0.9}.__getitem__
    problem = Estimated(seconds=LUCKY.__getitem__, again=confirmed, size=5, finalists=2)
    result = tune(problem, "grid", store=store, prior=prior)
    assert set(map(number, problem.rounds)) == ({1, 2, 5} if prior else {1, 2})
    assert result.best is not None
    assert result.best.seconds == (0.9 if prior else 1.0)


def test_who_fails_in_the_play_off_is_out(store: Store) -> None:
    problem = lucky({1: math.inf, 2: 1.2, 3: 1.3, 4: 1.4})
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert result.best.config == config(2)
    assert result.valid == 5, "the trial was valid"


@pytest.mark.parametrize("true", [11.0, math.inf], ids=["slow", "crashes"])
def test_a_false_time_does_not_win(store: Store, true: float) -> None:
    """One trial is far too fast: nobody is close to it, and those that are left out are better."""
    seconds = {1: 3.0, 2: 0.01, 3: 1.0, 4: 1.1, 5: 2.0}
    again = seconds | {2: true}
    problem = Scripted(seconds.__getitem__, again.__getitem__, size=5, finalists=4)
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(3), 1.0)
    assert problem.rounds[:MIN_ROUNDS] == [config(2)] * MIN_ROUNDS, "alone at first"
    assert 3 in map(number, problem.rounds)
    best = store.best("scripted")
    assert best is not None
    assert best.config == config(3)


def test_a_false_time_whose_config_is_the_best_all_the_same(store: Store) -> None:
    """What is left out has to win, too."""
    seconds = {1: 3.0, 2: 0.01, 3: 1.0, 4: 1.1, 5: 2.0}
    again = dict.fromkeys(seconds, 4.0) | {2: 3.5}
    problem = Scripted(seconds.__getitem__, again.__getitem__, size=5, finalists=4)
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(2), 3.5)


@pytest.mark.parametrize("true", [11.0, math.inf], ids=["slow", "crashes"])
def test_who_was_in_an_earlier_play_off_is_not_missed(store: Store, true: float) -> None:
    """A run that goes on does not measure again what a false trial was found out by."""
    seconds = {1: 3.0, 2: 0.01, 3: 1.0, 4: 1.1, 5: 2.0, 6: 5.0}
    again = seconds | {2: true}
    problem = Scripted(seconds.__getitem__, again.__getitem__, size=6, finalists=4)
    tune(problem, "grid", Budget(trials=5), store=store)
    problem.rounds.clear()
    result = tune(problem, "grid", store=store)
    assert result.trials == 6
    assert result.best is not None
    assert result.best.config == config(3)
    assert problem.rounds
    assert 2 not in map(number, problem.rounds)


def test_an_interrupt_in_a_further_play_off_is_one_in_the_first(store: Store) -> None:
    """Result and store agree: the trials count, whatever they are worth."""
    seconds = {1: 3.0, 2: 0.01, 3: 1.0, 4: 1.1, 5: 2.0}
    again = seconds | {2: 11.0}
    stop = failing_at(PLAY_OFF_ROUNDS + 3, KeyboardInterrupt())
    problem = Scripted(seconds.__getitem__, again.__getitem__, size=5, finalists=4, between=stop)
    result = tune(problem, "grid", store=store)
    assert result.stopped is Stop.INTERRUPTED
    assert stored(store, play_off=True) == []
    best = store.best("scripted")
    assert result.best is not None
    assert best is not None
    assert best.config == result.best.config


def test_a_slower_machine_is_no_reason_for_another_play_off(store: Store) -> None:
    """All who take part are slower than in their trials; so would be those who do not."""
    problem = lucky({number: 1.9 * seconds for number, seconds in LUCKY.items()})
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(1), 1.9)
    assert problem.rounds == list(map(config, (1, 2, 3, 4))) * PLAY_OFF_ROUNDS


def test_a_false_time_beside_the_default(store: Store) -> None:
    seconds = {1: 3.0, 2: 0.01, 3: 1.0, 4: 1.1, 5: 2.0}
    again = seconds | {2: 11.0}
    problem = Scripted(
        seconds.__getitem__, again.__getitem__, size=5, finalists=4, default=config(5)
    )
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(3), 1.0)


def test_if_all_fail_in_the_play_off_the_trials_decide(store: Store) -> None:
    result = tune(lucky(dict.fromkeys(LUCKY, math.inf)), "grid", store=store)
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(1), 1.0)


def test_an_interrupt_in_the_play_off(store: Store) -> None:
    problem = lucky(dict.fromkeys(LUCKY, 2.0), between=failing_at(10, KeyboardInterrupt()))
    result = tune(problem, "grid", store=store)
    assert result.stopped is Stop.INTERRUPTED
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(1), 1.0)
    assert len(stored(store)) == 5
    assert stored(store, play_off=True) == []
    assert problem.measurers[0].closed


def test_a_default_that_fails_in_the_play_off_keeps_the_time_of_its_trial(store: Store) -> None:
    problem = lucky({1: 1.2, 2: 1.1, 5: math.inf}, finalists=2, default=config(5))
    result = tune(problem, "grid", store=store)
    assert result.default is not None
    assert result.default.seconds == LUCKY[5]


def test_what_is_still_pending_does_not_disturb_the_play_off(store: Store) -> None:
    pending: list[int] = []
    problem = lucky(dict.fromkeys(LUCKY, 1.0), batch=4)
    problem.between = lambda rounds: pending.append(problem.measurers[0].pending)
    result = tune(problem, "grid", Budget(target_seconds=LUCKY[4]), store=store)
    assert result.trials < 4
    assert set(pending) == {0}
