"""What a measurer reports is checked where it comes in, and what is odd is told."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.scripted import Scripted, config, number
from tunesmith.budget import Budget
from tunesmith.measurement import Measurement, Outcome
from tunesmith.store import open_store
from tunesmith.tuning.checking import _warn, checked
from tunesmith.tuning.tune import tune

TOLD = "a call of 1e+18 seconds or more is reported; it counts"


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    _warn.cache_clear()
    yield
    _warn.cache_clear()


def test_each_is_checked(caplog: pytest.LogCaptureFixture) -> None:
    reported = [
        Measurement(config(1), Outcome.NO_ERROR, (1.0,)),
        Measurement(config(2), Outcome.NO_ERROR, (math.nan,)),
        Measurement(config(3), Outcome.RUN_TIMEOUT),
    ]
    found = checked(reported)
    assert found == [it.checked() for it in reported]
    assert [it.valid for it in found] == [True, False, False]
    assert not caplog.messages


@pytest.mark.parametrize(("seconds", "told"), [(0.9e18, 0), (1e18, 1), (1e300, 1)])
def test_an_astronomical_time_counts_and_is_told_once(
    seconds: float, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    def reports(trial: Measurement) -> Measurement:
        return replace(trial, run_seconds=(seconds if number(trial.config) > 5 else 1.0,))

    with open_store("sqlite://") as store:
        problem = Scripted(reports=reports, size=30, finalists=3)
        result = tune(problem, "auto", Budget(trials=30), store=store)
    assert result.outcomes == {Outcome.NO_ERROR: 30}
    assert result.best is not None
    assert result.best.seconds == 1.0
    assert len([text for text in caplog.messages if TOLD in text]) == told


def test_one_of_the_play_off_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    with open_store("sqlite://") as store:
        problem = Scripted(again=lambda n: 1e300 if n == 1 else 1.0 + n / 100, finalists=3)
        result = tune(problem, "grid", Budget(trials=10), store=store)
    assert result.best is not None
    assert result.best.config != config(1)
    assert len([text for text in caplog.messages if TOLD in text]) == 1
