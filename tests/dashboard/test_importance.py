"""How much parameters have to do with the time."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tunesmith.dashboard.importance import explained, parameters_of
from tunesmith.measurement import Outcome
from tunesmith.store.aggregates import Trial


def _trial(seconds: float | None, **values: object) -> Trial:
    outcome = Outcome.UNKNOWN_ERROR if seconds is None else Outcome.NO_ERROR
    return Trial(json.dumps(values), seconds, outcome, "")


def test_a_parameter_that_decides_alone_explains_all() -> None:
    groups = np.arange(60) % 3
    assert explained(groups, np.exp(groups.astype(float))) == pytest.approx(1.0)


def test_a_parameter_that_decides_nothing_explains_nothing() -> None:
    chance = np.random.default_rng(0)
    shares = [
        explained(chance.integers(0, 10, 200), np.exp(chance.normal(size=200))) for _ in range(20)
    ]
    assert all(share is not None for share in shares)
    assert np.mean([share or 0.0 for share in shares]) < 0.02


def test_the_share_is_that_of_the_variance() -> None:
    chance = np.random.default_rng(1)
    one, other = chance.integers(0, 2, 20_000), chance.integers(0, 2, 20_000)
    times = np.exp(1.0 * one + 0.5 * other)  # variances 1/4 and 1/16
    assert explained(one, times) == pytest.approx(0.8, abs=0.02)
    assert explained(other, times) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("groups", "times"),
    [([], []), ([0], [1.0]), ([0, 1, 2], [1.0, 2.0, 3.0]), ([0, 0, 1, 1], [1.0] * 4)],
)
def test_too_few_trials_tell_nothing(groups: list[int], times: list[float]) -> None:
    assert explained(np.array(groups, dtype=int), np.array(times)) is None


def test_failed_trials_do_not_count() -> None:
    groups = np.array([0, 0, 0, 1, 1, 1, 1])
    times = np.array([1.0, 1.1, 0.9, 2.0, 2.2, 1.9, math.nan])
    assert explained(groups, times) == explained(groups[:-1], times[:-1])


def test_parameters_come_by_importance_with_sorted_values() -> None:
    trials = [
        _trial(0.1 * (10 - tile) * (1.01 if order == "ji" else 1.0), order=order, tile=tile)
        for tile in (8, 2, 4, 1)
        for order in ("ij", "ji")
        for _ in range(3)
    ]
    first, second = parameters_of([*trials, _trial(None, order="ij", tile=2)])
    assert (first.name, second.name) == ("tile", "order")
    assert list(first.values) == [1, 2, 4, 8]
    assert [first.values[place] for place in first.place[:7:3]] == [8, 8, 2]
    assert first.share is not None
    assert second.share is not None
    assert first.share > 0.9 > second.share


def test_configs_may_lack_parameters_or_be_none() -> None:
    trials = [
        _trial(1.0, a=[2, 1]),
        _trial(2.0, a=[1, 4], b="x"),
        Trial("[1]", 1.0, Outcome(0), ""),
    ]
    found = {it.name: list(it.values) for it in parameters_of(trials)}
    assert found == {"a": [[1, 4], [2, 1], None], "b": ["x", None]}
