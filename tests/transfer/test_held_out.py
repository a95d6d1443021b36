"""Scores on what was held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.transfer.made_up import SIZES, series, task
from tunesmith.operators import matmul
from tunesmith.transfer.held_out import folds, score, scores, summary, work_of


def test_the_right_order_is_perfect() -> None:
    seconds = np.arange(1.0, 31.0)
    found = score(task(64), seconds, -seconds)
    assert found.correlation == pytest.approx(1.0)
    assert found.found == {1: 1.0, 5: 1.0, 20: 1.0}
    assert found.recall == {1: 1.0, 5: 1.0, 20: 1.0}


def test_the_wrong_order_finds_the_slowest_first() -> None:
    seconds = np.arange(1.0, 31.0)
    found = score(task(64), seconds, seconds)
    assert found.correlation == pytest.approx(-1.0)
    assert found.found == {1: 1 / 30, 5: 1 / 26, 20: 1 / 11}
    assert found.recall == {1: 0.0, 5: 0.0, 20: 0.5}


def test_predictions_that_are_the_same_share_a_rank() -> None:
    seconds, predicted = np.array([4.0, 3.0, 2.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    assert score(task(64), seconds, predicted).correlation == pytest.approx(2.0 / 5.0**0.5)


def test_a_prediction_that_is_constant_says_nothing() -> None:
    """The trials of a tuner get faster: their order must not count for a prediction."""
    seconds = np.arange(1000.0, 0.0, -1.0)
    for order in (seconds, seconds[::-1]):
        found = score(task(64), order, np.zeros(1000))
        assert found.correlation == 0.0
        assert found.recall[20] <= 0.2


def test_failed_favourites_are_worth_nothing() -> None:
    seconds = np.array([np.nan, 2.0, 1.0])
    found = score(task(64), seconds, np.array([3.0, 2.0, 1.0]))
    assert found.found[1] == 0.0
    assert found.found[5] == 1.0


def test_what_is_no_time_of_a_call_is_like_a_failure() -> None:
    seconds = np.array([0.0, -1.0, np.inf, np.nan, 2.0, 1.0])
    predicted = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = score(task(64), seconds, predicted)
    assert found.correlation == pytest.approx(1.0)
    assert found.found == {1: 1.0, 5: 1.0, 20: 1.0}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seconds", [[], [np.nan, 0.0], [1.0]])
def test_nothing_to_compare_has_a_score_without_warnings(seconds: list[float]) -> None:
    found = score(task(64), np.array(seconds), np.zeros(len(seconds)))
    assert found.correlation == 0.0
    assert all(0.0 <= share <= 1.0 for share in found.found.values())


def test_tasks_with_few_valid_trials_have_no_score() -> None:
    assert scores([series(64, 15)], lambda each: -each.seconds) == []
    (only,) = scores([series(64, 30), series(96, 15)], lambda each: -np.nan_to_num(each.seconds))
    assert only.task == task(64)


def test_networks_are_held_out_as_a_whole() -> None:
    known = [series(size, 20, network=name) for size, name in zip(SIZES, "aabbc", strict=True)]
    parts = folds(known, 2)
    assert sorted(number for _, tested in parts for number in tested) == [0, 1, 2, 3, 4]
    for learned, tested in parts:
        names = [
            {name for number in part for name in known[number].networks}
            for part in (learned, tested)
        ]
        assert not names[0] & names[1]
        assert learned


def test_what_several_networks_have_is_learned_with_none_of_them() -> None:
    shared = replace(series(64, 20), networks=frozenset("ab"))
    known = [shared, series(96, 20, network="a"), series(128, 20, network="b")]
    parts = folds(known, 2)
    for learned, _ in parts:
        assert 0 not in learned
    assert sorted(number for _, tested in parts for number in tested) == [0, 1, 2]


def test_an_operator_of_the_same_work_is_not_learned_from() -> None:
    plain, other = series(64, 20, network="a"), series(96, 20, network="c")
    operator = matmul(m=64, n=64, k=64, relu=True)
    fused = replace(plain, task=replace(plain.task, operator=operator), networks=frozenset("b"))
    assert work_of(operator) == work_of(plain.task.operator) != work_of(other.task.operator)
    known = [plain, fused, other]
    for learned, tested in folds(known, 3):
        assert (2 in tested) == (0 in learned) == (1 in learned)
        assert (2 in learned) == (2 not in tested)


def test_a_summary() -> None:
    seconds = np.arange(1.0, 31.0)
    right, wrong = score(task(64), seconds, -seconds), score(task(96), seconds, seconds)
    found = summary([right, right, wrong])
    assert found["tasks"] == 3
    assert found["correlation"] == pytest.approx(1.0)
    assert found["found"] == {"1": 1.0, "5": 1.0, "20": 1.0}
    shares = {"1": 1 / 30, "5": 1 / 26, "20": 1 / 11}  # of the wrong order, a fifth of the way up
    assert found["found_tenth"] == pytest.approx({n: 0.8 * it + 0.2 for n, it in shares.items()})
    assert found["recall"] == pytest.approx({"1": 2 / 3, "5": 2 / 3, "20": 2.5 / 3})
    assert summary([]) == {"tasks": 0}
