"""The incumbents of a run, and what its play-off makes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import pytest

from tunesmith.measurement import REPEATED, Candidate, Measurement, Outcome
from tunesmith.problem import Measurer
from tunesmith.space import Config
from tunesmith.testing.trials import candidates
from tunesmith.tuning import play_off
from tunesmith.tuning.incumbents import Incumbents


def config(number: int) -> Config:
    return Config({"x": number})


def took(number: int, seconds: float) -> Measurement:
    return Measurement(config(number), Outcome.NO_ERROR, (seconds,))


def failed(number: int, outcome: Outcome) -> Measurement:
    return Measurement(config(number), outcome)


def incumbents(*measurements: Measurement, default: int | None = None) -> Incumbents:
    made = Incumbents(None if default is None else Candidate(config(default)), finalists=3)
    for measurement in measurements:
        made.count(measurement)
    return made


def test_the_best_few_are_kept_in_order() -> None:
    now = incumbents(*(took(number, seconds) for number, seconds in enumerate((5, 1, 4, 2, 3))))
    assert [m.seconds for m in now.finalists] == [1, 2, 3]
    assert (now.trials, now.best_seconds, now.since_improvement) == (5, 1, 3)


def test_a_program_is_a_finalist_once() -> None:
    again = Measurement(config(1), Outcome.NO_ERROR, (1.0,), message=REPEATED)
    now = incumbents(took(0, 1.0), again, took(2, 1.1))
    assert [m.config for m in now.finalists] == [config(0), config(2)]
    assert (now.trials, now.outcomes[Outcome.NO_ERROR], now.repeated) == (3, 3, 1)


def test_failures_count_and_win_nothing() -> None:
    now = incumbents(failed(0, Outcome.BUILD_TIMEOUT), failed(1, Outcome.WRONG_ANSWER))
    assert now.trials == 2
    assert now.finalists == []
    assert math.isinf(now.best_seconds)


def test_only_the_close_play_off_and_the_default_beside_them() -> None:
    now = incumbents(took(0, 9.0), took(1, 1.0), took(2, 1.1), took(3, 1.2), default=0)
    planned = play_off.plan(now, elapsed=1e3, cost=lambda _: 0.01)
    assert planned == play_off.PlayOff(
        candidates([config(1), config(2), config(0)]), play_off.MAX_ROUNDS
    )


@pytest.mark.parametrize(
    ("elapsed", "allowed"), [(0.0, 1.0), (20.0, 2.0), (1e6, 5.0)], ids=["short", "share", "long"]
)
def test_rounds_fit_the_time(elapsed: float, allowed: float) -> None:
    now = incumbents(took(1, 1.0), took(2, 1.1))
    planned = play_off.plan(now, elapsed, cost=lambda _: 0.1)
    assert planned.rounds == min(play_off.MAX_ROUNDS, int(allowed / 0.2))


def test_the_slowest_stay_out_where_time_is_short() -> None:
    now = incumbents(took(0, 50.0), took(1, 0.30), took(2, 0.31), default=0)
    planned = play_off.plan(now, elapsed=1.0, cost=lambda measurement: measurement.seconds)
    assert planned.candidates == candidates([config(1)])
    assert planned.rounds == play_off.MIN_ROUNDS


def test_no_play_off_where_there_is_no_time_at_all() -> None:
    now = incumbents(took(1, 20.0), took(2, 21.0))
    assert not play_off.plan(now, elapsed=60.0, cost=lambda m: m.seconds).candidates


def test_the_new_times_replace_the_old_ones() -> None:
    now = incumbents(took(0, 9.0), took(1, 1.0), took(2, 1.1), default=0)
    play_off.apply(now, [took(1, 1.3), took(2, 1.2), took(0, 8.0)])
    assert [m.config for m in now.finalists] == [config(2), config(1), config(0)]
    assert now.default == took(0, 8.0)


def test_a_time_out_in_the_play_off_says_nothing() -> None:
    now = incumbents(took(0, 9.0), took(1, 1.0), default=0)
    measured = [took(1, 1.05), failed(0, Outcome.RUN_TIMEOUT)]
    play_off.apply(now, measured)
    assert now.default == took(0, 9.0)
    assert play_off.verdicts(measured) == [took(1, 1.05)]


class Measured:
    """Answers play-offs with what it was made with, and lists who took part."""

    def __init__(self, *answers: Measurement) -> None:
        self.answers = {answer.candidate: answer for answer in answers}
        self.asked: list[list[Candidate]] = []

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> list[Measurement]:
        assert rounds >= play_off.MIN_ROUNDS
        self.asked.append(list(candidates))
        return [self.answers[candidate] for candidate in candidates]

    def round_cost(self, measurement: Measurement) -> float:
        return measurement.seconds


def held(now: Incumbents, *answers: Measurement, needed: int = 1) -> list[list[Candidate]]:
    measurer = Measured(*answers)
    play_off.hold(now, cast(Measurer, measurer), elapsed=1.0, needed=needed)
    return measurer.asked


def test_a_play_off_of_time_outs_decides_nothing() -> None:
    now = incumbents(took(1, 0.1), took(2, 0.2))
    assert held(now, failed(1, Outcome.RUN_TIMEOUT)) == [candidates([config(1)])]
    assert now.finalists[0] == took(1, 0.1)


def test_what_was_missed_is_measured_even_where_that_takes_long() -> None:
    now = incumbents(took(1, 0.01), took(2, 0.7), took(3, 0.9))
    asked = held(now, took(1, 5.0), took(2, 0.7), took(3, 0.9))
    assert asked == [candidates([config(1)]), candidates([config(2)])]
    assert [m.seconds for m in now.finalists] == [0.7, 5.0]


def test_there_is_an_end_to_play_offs() -> None:
    """Every trial was false, and the time suffices for one config alone."""
    now = Incumbents(None, finalists=9)
    for number in range(9):
        now.count(took(number, 0.3 * 1.2**number))
    asked = held(now, *(took(number, 50.0 - number) for number in range(9)))
    assert asked == [candidates([config(number)]) for number in range(play_off.MOST)]
    assert now.finalists[0] == took(2, 48.0)


def test_a_run_that_is_late_waits_for_no_config_alone() -> None:
    now = incumbents(took(1, 0.01), took(2, 0.7))
    assert held(now, needed=2) == []
    assert now.best_seconds == 0.01


def test_a_crash_in_the_play_off_puts_out() -> None:
    now = incumbents(took(1, 1.0), took(2, 1.1))
    measured = [failed(1, Outcome.RUNTIME_DEVICE), took(2, 1.1)]
    play_off.apply(now, measured)
    assert [m.config for m in now.finalists] == [config(2)]
    assert play_off.verdicts(measured) == measured
