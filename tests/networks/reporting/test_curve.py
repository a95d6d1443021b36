"""What a call took over the seconds of tuning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.networks.reporting.records import add_run
from tunesmith.networks.reporting.curve import tuning_curve
from tunesmith.networks.reporting.stored import stored_tasks
from tunesmith.operators import dense
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.task import Task

FIRST, SECOND = (Task(dense(n=8, k=8 + number), Target(cores=1)) for number in range(2))


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


def about(seconds: float) -> Any:
    return pytest.approx(seconds)


def curve_of(store: Store, tasks: Mapping[Task, int]) -> list[tuple[float, float]]:
    return tuning_curve(stored_tasks(tasks, store))


def test_a_task_counts_with_its_default_until_it_is_tuned(store: Store) -> None:
    add_run(store, FIRST, [8e-3, 5e-3, 6e-3, 1e-3])
    add_run(store, SECOND, [4e-3, 2e-3], starts=100.0)
    assert curve_of(store, {FIRST: 1, SECOND: 2}) == [
        (0.0, about(16e-3)),
        (2.0, about(13e-3)),
        (4.0, about(9e-3)),
        (12.0, about(5e-3)),  # the time between runs does not count
        (20.0, about(5e-3)),
    ]


def test_a_play_off_replaces_lucky_trials(store: Store) -> None:
    add_run(store, FIRST, [8e-3, 1e-3, 2e-3], play_off=[(1, 4e-3), (2, 3e-3)])
    times = [seconds for _, seconds in curve_of(store, {FIRST: 1})]
    assert times == pytest.approx([8e-3, 1e-3, 4e-3, 3e-3, 3e-3])


def test_a_default_that_fails_leaves_the_first_time(store: Store) -> None:
    add_run(store, FIRST, [math.inf, 5e-3, 1e-3])
    assert curve_of(store, {FIRST: 3}) == [
        (0.0, about(15e-3)),
        (3.0, about(3e-3)),
        (10.0, about(3e-3)),
    ]


def test_tasks_without_a_time_do_not_count(store: Store) -> None:
    assert curve_of(store, {FIRST: 1, SECOND: 1}) == []
    add_run(store, FIRST, [math.inf, math.inf])
    assert curve_of(store, {FIRST: 1, SECOND: 1}) == []
    add_run(store, SECOND, [2e-3], starts=20.0)
    assert curve_of(store, {FIRST: 1, SECOND: 1})[-1] == (20.0, about(2e-3))
