"""Estimates and repeats."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.measure.trial.timing import calls_a_repeat, estimate, until_steady


class Function:
    """A function that takes the given seconds, one figure a call, the last for all later ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
        self.now = 0.0
        self.calls = 0
        self.series: list[int] = []
        self._seconds = seconds
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def __call__(self) -> None:
        self.now += self._seconds[min(self.calls, len(self._seconds) - 1)]
        self.calls += 1

    def time_calls(self, calls: int) -> float:
        self.series.append(calls)
        return self._seconds[-1]


def test_a_long_call_is_made_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    function = Function(monkeypatch, 0.5)
    assert estimate(function, function.time_calls, first=0.6, hopeless=math.inf) == 0.5
    assert function.calls == 1 and function.series == []


def test_the_first_call_counts_if_it_was_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    function = Function(monkeypatch, 0.5)
    assert estimate(function, function.time_calls, first=0.4, hopeless=math.inf) == 0.4


def test_short_calls_are_timed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    function = Function(monkeypatch, 1e-5, 1e-6)
    assert estimate(function, function.time_calls, first=3e-3, hopeless=1e-6) == 1e-6
    assert function.series == [100]


def test_a_hopeless_candidate_is_called_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    function = Function(monkeypatch, 0.5)
    assert estimate(function, function.time_calls, first=0.6, hopeless=0.01) == 0.6
    assert function.calls == 0


def test_a_slow_first_call_may_be_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    function = Function(monkeypatch, 0.002)
    assert estimate(function, function.time_calls, first=0.012, hopeless=0.01) == 0.002


@given(st.floats(1e-9, 10), st.floats(1e-4, 1))
def test_a_repeat_is_as_short_as_it_may_be(seconds: float, least: float) -> None:
    calls = calls_a_repeat(seconds, least)
    assert calls >= 1
    assert calls * seconds >= least * (1 - 1e-9)
    assert calls == 1 or (calls - 1) * seconds < least * (1 + 1e-9)


def test_a_call_too_short_to_be_timed_is_not_repeated_for_ever() -> None:
    assert calls_a_repeat(0.0, 0.005) == 5_000_000


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([[1.0, 1.1, 1.2]], [1.0, 1.1, 1.2]),
        ([[8.0, 2.0, 1.2], [1.0, 1.0, 1.0]], [8.0, 2.0, 1.2, 1.0, 1.0, 1.0]),
        ([[1.0, 2.0]] * 3, [1.0, 2.0] * 3),
    ],
    ids=["steady", "steady at last", "never steady"],
)
def test_disturbed_repeats_are_made_again(series: list[list[float]], expected: list[float]) -> None:
    rest = iter(series)
    assert until_steady(lambda: next(rest), most_series=3) == expected
    assert next(rest, None) is None


def test_disturbed_repeats_of_a_program_far_from_the_best_are_not_made_again() -> None:
    disturbed = [[2.0, 3.0], [2.0, 2.0]]
    slow, contender = iter(disturbed), iter(disturbed)
    assert until_steady(lambda: next(slow), most_series=4, best=1.0) == [2.0, 3.0]
    assert until_steady(lambda: next(contender), most_series=4, best=1.5) == [2.0, 3.0, 2.0, 2.0]
