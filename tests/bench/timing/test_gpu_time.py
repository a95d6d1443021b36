"""How the time is shared out, by a clock that is moved by hand."""

from __future__ import annotations

import pytest

from tunesmith.bench.timing.gpu_time import Deadline, TimePlan, calls_of


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_parts_share_what_is_left_by_their_weights() -> None:
    clock = Clock()
    plan = TimePlan(100.0, {"a": 1.0, "b": 3.0, "c": 1.0}, clock)
    assert plan.begin("a").left == pytest.approx(20.0)
    clock.now += 10.0  # ten seconds less than it might have taken
    second = plan.begin("b")
    assert second.left == pytest.approx(67.5)
    clock.now += 80.0  # more than that
    assert second.left == 0.0
    assert plan.begin("c").left == pytest.approx(10.0)
    assert plan.spent == pytest.approx(90.0)


def test_nothing_is_left_when_the_time_is_up() -> None:
    clock = Clock()
    plan = TimePlan(5.0, {"a": 1.0, "b": 1.0}, clock)
    plan.begin("a")
    clock.now += 6.0
    assert plan.begin("b").left == 0.0


def test_a_share_is_of_what_is_left_for_those_to_come() -> None:
    clock = Clock()
    deadline = Deadline(30.0, clock)
    assert deadline.share(3) == pytest.approx(10.0)
    clock.now += 18.0
    assert deadline.share(2) == pytest.approx(6.0)
    assert deadline.share(0) == pytest.approx(12.0)


def test_a_round_has_at_least_one_call_and_not_too_many() -> None:
    assert calls_of(0.01, 1.0) == 1
    assert calls_of(0.01, 1e-3) == 10
    assert calls_of(0.01, 0.0) == calls_of(0.01, 1e-12) == 10_000
