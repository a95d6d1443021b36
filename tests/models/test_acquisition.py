"""What a trial is worth, by hand and against draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.models import Prediction
from tunesmith.models.acquisition import acquire, expected_improvement

PREDICTION = Prediction(np.array([1.0, 2.0]), np.array([2.0, 0.5]))


def test_expected_improvement_by_hand() -> None:
    # No gain in the mean: a deviation over the square root of 2 pi. Certainty: the gain itself.
    found = expected_improvement(np.array([0.0, 3.0, -3.0, 3.0]), np.array([2.0, 1e-4, 1e-4, 0.0]))
    np.testing.assert_allclose(found, [2 / math.sqrt(2 * math.pi), 3.0, 0.0, 3.0], atol=1e-12)


def test_expected_improvement_against_draws() -> None:
    draws = np.random.default_rng(0).normal(0.4, 1.5, 1_000_000)
    (found,) = expected_improvement(np.array([1.0 - 0.4]), np.array([1.5]))
    assert found == pytest.approx(np.maximum(1.0 - draws, 0.0).mean(), rel=0.01)


def test_the_mean_knows_no_deviations() -> None:
    means = np.array([3.0, 1.0])
    assert (acquire("mean", Prediction(means, None), best=2.0) == means).all()


def test_the_upper_confidence_bound_is_a_deviation_above_the_mean() -> None:
    assert acquire("upper-confidence-bound", PREDICTION, best=0.0).tolist() == [3.0, 2.5]


def test_an_improvement_is_over_the_best() -> None:
    found = acquire("expected-improvement", PREDICTION, best=1.5)
    expected = expected_improvement(np.array([-0.5, 0.5]), np.array([2.0, 0.5]))
    assert (found == expected).all()
