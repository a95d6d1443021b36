"""Accounts of the wall clock."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tunesmith.measure.activity import Activity, ActivityClock

BUILD, RUN, IDLE = Activity.BUILD, Activity.RUN, Activity.IDLE


def test_each_stretch_goes_to_its_activity() -> None:
    clock = ActivityClock()
    clock.start(100.0)
    clock.change(BUILD, 101.0)
    clock.change(RUN, 103.0)
    clock.change(BUILD, 103.5)
    assert clock.split(104.0) == {"build": 2.5, "run": 0.5, "idle": 1.0}


def test_nothing_counts_before_the_start_or_after_the_stop() -> None:
    clock = ActivityClock()
    clock.change(BUILD, 5.0)
    clock.change(IDLE, 9.0)
    assert clock.split(10.0) == {"build": 0.0, "run": 0.0, "idle": 0.0}
    clock.start(10.0)
    clock.start(11.0)
    clock.stop(12.0)
    clock.change(RUN, 13.0)
    assert clock.split(20.0) == {"build": 0.0, "run": 0.0, "idle": 2.0}


def test_a_change_that_is_dated_before_the_last_look() -> None:
    clock = ActivityClock()
    clock.start(0.0)
    clock.split(2.0)
    clock.change(BUILD, 1.0)
    assert clock.split(4.0) == {"build": 2.0, "run": 0.0, "idle": 2.0}


@given(st.lists(st.tuples(st.sampled_from(Activity), st.floats(0, 10))))
def test_the_parts_add_up_to_the_whole(changes: list[tuple[Activity, float]]) -> None:
    clock = ActivityClock()
    clock.start(1000.0)
    now = 1000.0
    for activity, wait in changes:
        now += wait
        clock.change(activity, now)
    assert math.isclose(sum(clock.split(now + 1.0).values()), now + 1.0 - 1000.0, rel_tol=1e-9)
