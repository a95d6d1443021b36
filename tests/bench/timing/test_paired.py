"""Paired comparisons: the interval of the median, the turns, and sides that fail."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.bench.peers import SIDE
from tunesmith.bench.peers.sides import kernel_side
from tunesmith.bench.timing import rotation, serving
from tunesmith.bench.timing.paired import Comparison, compare
from tunesmith.bench.timing.rotation import median_interval
from tunesmith.bench.timing.side_process import Side
from tunesmith.errors import TunesmithError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.task import Task
from tunesmith.tuning.result import Found

# --- The interval


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [
        # As tables of the sign test's interval have them, such as Conover's, for 95 % or more;
        # fewer than six values cannot reach that, and give all that they can.
        (1, 1, 1),
        (2, 1, 2),
        (5, 1, 5),
        (6, 1, 6),
        (8, 1, 8),
        (9, 2, 8),
        (10, 2, 9),
        (20, 6, 15),
        (25, 8, 18),
        (30, 10, 21),
        (50, 18, 33),
        (100, 40, 61),
    ],
)
def test_the_ranks_are_those_of_the_sign_test(n: int, low: int, high: int) -> None:
    values = [float(rank) for rank in range(1, n + 1)]
    assert median_interval(values) == (low, high)
    assert median_interval(values[::-1]) == (low, high)


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=60))
def test_the_median_is_inside(values: list[float]) -> None:
    low, high = median_interval(values)
    assert min(values) <= low <= statistics.median(values) <= high <= max(values)


def test_many_values() -> None:
    low, high = median_interval(list(range(3001)))
    # By the normal approximation the ranks are 1.96 * sqrt(n) / 2 away from the median.
    assert low == pytest.approx(1500 - 1.96 * math.sqrt(3001) / 2, abs=2)
    assert high == pytest.approx(1500 + 1.96 * math.sqrt(3001) / 2, abs=2)


@pytest.mark.parametrize("n", [9, 25, 60])
def test_it_covers_the_median_as_often_as_it_says(n: int) -> None:
    """Of a skewed distribution, whose median is 1: at least 95 times in 100, and not always."""
    draws = np.random.default_rng(0).lognormal(0.0, 0.7, (3000, n))
    intervals = (median_interval(row.tolist()) for row in draws)
    covered = statistics.mean(low <= 1.0 <= high for low, high in intervals)
    assert 0.94 <= covered <= 0.985


# --- The turns


class FakeSide:
    """Takes as long as its description says, by round; ``log`` has all rounds in their order."""

    log: list[str]

    def __init__(self, module: str, description: Mapping[str, Any], patience: float = 0.0) -> None:
        self.peak_bytes = 0
        self.way = None
        self._name = str(description["name"])
        self._seconds: Iterator[float] = iter(description["seconds"])

    def ready(self) -> None:
        """It is."""

    def round(self, seconds: float) -> float:
        FakeSide.log.append(self._name)
        return next(self._seconds)

    def stop(self) -> None:
        pass

    def go(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        FakeSide.log.append(f"{self._name} ends")


def test_sides_take_turns_and_only_neighbours_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "Side", FakeSide)
    monkeypatch.setattr(rotation, "_PAUSE", 0.0)
    FakeSide.log = []
    # The machine slows down by half in the middle; the second side takes twice as long throughout.
    solo = rotation._SOLO_ROUNDS
    slow, together = [1.75] * solo, [1.0, 1.0, 2.0, 2.0, 2.0]
    turns = slow + together + slow
    first = {"name": "a", "seconds": turns}
    second = {"name": "b", "seconds": [2 * seconds for seconds in turns]}
    found = compare(SIDE, first, second, pairs=5)
    assert found == Comparison(
        ratio=2.0,
        low=2.0,
        high=2.0,
        first=2.0,
        second=4.0,
        first_alone=1.75,
        second_alone=3.5,
        pairs=5,
    )
    alone = "a" * solo + "b" * solo
    assert FakeSide.log == [*alone, *"abbaabbaab", *alone, "b ends", "a ends"]


def test_the_mean_time_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calls = 0.0, 0

    def call() -> None:
        nonlocal now, calls
        now += 0.25
        calls += 1

    monkeypatch.setattr(serving, "time", SimpleNamespace(perf_counter=lambda: now))
    assert serving.seconds_a_call(call, 10.0) == 0.25
    assert calls == 2 + 40, "two to know how long it takes, then ten seconds"
    assert serving.seconds_a_call(call, 0.01) == 0.25, "at least one call"


# --- Real sides


def _problem() -> TaskProblem:
    return TaskProblem.of(Task(matmul(m=32, n=32, k=32)))


@pytest.mark.slow
def test_a_kernel_against_itself() -> None:
    problem = _problem()
    default = Measurement(problem.default, Outcome.NO_ERROR, (1.0,))
    description = kernel_side(Found(problem, default))
    found = compare(SIDE, description, description, pairs=3)
    assert found.pairs == 3
    assert 0.0 < found.low <= found.ratio <= found.high < math.inf
    assert min(found.first, found.second, found.first_alone, found.second_alone) > 0.0
    left = [" ".join(child.cmdline()) for child in psutil.Process().children()]
    assert not any(SIDE in line for line in left)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "jax"}, "KeyError: 'jax'"),
        ({"operator": {"operator": "matmull", "options": {}}}, "did you mean matmul"),
        ({"operator": {"operator": "matmul", "options": {"m": 0, "n": 1, "k": 1}}}, "not 0"),
    ],
)
def test_a_side_that_cannot_be(change: dict[str, Any], message: str) -> None:
    operator = {"operator": "matmul", "options": {"m": 8, "n": 8, "k": 8}}
    description = {
        "kind": "peer",
        "peer": "pytorch",
        "operator": operator,
        "cores": 1,
        **change,
    }
    with pytest.raises(TunesmithError) as raised:
        compare(SIDE, description, description)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_side_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    with Side(SIDE, {"cores": 1}) as dying:
        dying._process.kill()
        dying._process.wait()
        with pytest.raises(TunesmithError, match="ended unexpectedly: run it again"):
            dying.round()
