"""The choice of batches against equation 3."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tunesmith.tuners.autotvm.diversity import diverse

ROWS = np.array([[0, 0], [0, 1], [1, 0], [2, 2]])
SCORES = np.array([1.0, 0.9, 0.8, 0.1])


def test_without_weight_the_best_are_chosen() -> None:
    assert diverse(ROWS, SCORES, 3, alpha=0.0).tolist() == [0, 1, 2]


def test_new_values_are_worth_something() -> None:
    # The first is worth 1 + 2α; then the last has two new values, the others one each.
    assert diverse(ROWS, SCORES, 3, alpha=1.0).tolist() == [0, 3, 1]


def test_more_than_there_are() -> None:
    assert sorted(diverse(ROWS, SCORES, 9, alpha=0.5).tolist()) == [0, 1, 2, 3]
    assert diverse(ROWS[:0], SCORES[:0], 2, alpha=0.5).tolist() == []


def objective(chosen: list[int], rows: np.ndarray, scores: np.ndarray, alpha: float) -> float:
    """Equation 3, with scores in place of the negative costs."""
    distinct = sum(len(set(rows[chosen, place].tolist())) for place in range(rows.shape[1]))
    return float(scores[chosen].sum()) + alpha * distinct


def test_the_greedy_choice_is_within_its_bound_of_the_best() -> None:
    """For a submodular objective that only grows: at least 1 - 1/e of the best."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows, scores = rng.integers(4, size=(10, 3)), rng.random(10)
        greedy = objective(diverse(rows, scores, 4, 0.3).tolist(), rows, scores, 0.3)
        best = max(objective([*each], rows, scores, 0.3) for each in combinations(range(10), 4))
        assert greedy <= best + 1e-12
        assert greedy >= (1 - 1 / np.e) * best
