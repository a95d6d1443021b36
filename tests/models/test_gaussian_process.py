"""The Gaussian process against what can be worked out by hand or with numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.models import gaussian_process
from tunesmith.models.gaussian_process import (
    Array,
    GaussianProcess,
    _Hyperparameters,
    _log_posterior,
)

RNG = np.random.default_rng(0)
POINTS = RNG.random((20, 3))
APART = np.abs(POINTS.T[:, :, None] - POINTS.T[:, None, :])
VALUES = np.sin(6 * POINTS[:, 0]) + 0.01 * RNG.standard_normal(20)


def test_a_single_known_value() -> None:
    model = GaussianProcess([0, 0])
    model.condition(np.array([[0.5, 0.5]]), np.array([2.0]))
    mean, deviation = model.predict(np.array([[0.5, 0.5], [0.75, 0.25]]))
    noise = 1e-2 + 1e-8
    near = np.exp(-0.5)  # two coordinates, a quarter away each, scales 1, amplitudes a half each
    np.testing.assert_allclose(mean, [2 / (1 + noise), 2 * near / (1 + noise)])
    np.testing.assert_allclose(deviation, np.sqrt([1 - 1 / (1 + noise), 1 - near**2 / (1 + noise)]))


def test_groups_count_by_themselves_and_together() -> None:
    model = GaussianProcess([0, 0, 1])
    model.condition(np.zeros((1, 3)), np.array([1.0]))
    mean, _ = model.predict(np.array([[0.5, 0.25, 0.0], [0.5, 0.25, 1.0]]))
    first, second = np.exp(-0.75), np.exp(-1.0)
    expected = [(1 + first) / 4 + first / 2, (first + second) / 4 + first * second / 2]
    np.testing.assert_allclose(mean * (1 + 1e-2 + 1e-8), expected)


def test_what_groups_do_by_themselves_is_carried_over_to_where_they_never_met() -> None:
    """Nine points on two axes say what the sum is in the corner between them."""
    points = np.array([[x, 0.0] for x in (0, 0.25, 0.5, 0.75, 1)])
    points = np.concatenate([points, points[1:, ::-1]])
    model = GaussianProcess([0, 1])
    values = points.sum(axis=1) - points.sum(axis=1).mean()
    for _ in range(10):
        model.fit(points, values)
    model.condition(points, values)
    mean, _ = model.predict(np.array([[1.0, 1.0]]))
    assert mean[0] > values.max() + 0.2


@pytest.mark.parametrize("groups", [[0, 1, 2], [0, 0, 1], [0, 0, 0]])
def test_the_gradient_is_that_of_the_posterior(groups: list[int]) -> None:
    numbers = np.array(groups)
    logs = np.array([0.3, -0.5, 0.1, 0.2, -0.4, -3.0])

    def posterior(logs: Array) -> tuple[float, Array]:
        return _log_posterior(_Hyperparameters(logs), numbers, APART, VALUES)

    _, gradient = posterior(logs)
    for index in range(len(logs)):
        step = np.zeros(len(logs))
        step[index] = 1e-5
        difference = posterior(logs + step)[0] - posterior(logs - step)[0]
        assert difference / 2e-5 == pytest.approx(gradient[index], rel=1e-3, abs=1e-4)


def test_fitting_finds_what_matters() -> None:
    model = GaussianProcess([0, 1, 2])
    for _ in range(5):
        model.fit(POINTS, VALUES)
    scales = model._found.scales
    assert scales[0] < scales[1]
    assert scales[0] < scales[2]
    model.condition(POINTS, VALUES)
    fresh = RNG.random((200, 3))
    mean, deviation = model.predict(fresh)
    truth = np.sin(6 * fresh[:, 0])
    assert np.corrcoef(mean, truth)[0, 1] > 0.8
    assert (np.abs(mean - truth) < 3 * deviation).mean() > 0.9


def test_fitting_never_ends_with_less_than_it_began_with() -> None:
    model = GaussianProcess([0, 1, 2])
    before, _ = _log_posterior(model._found, np.arange(3), APART, VALUES)
    model.fit(POINTS, VALUES, steps=3)
    after, _ = _log_posterior(model._found, np.arange(3), APART, VALUES)
    assert after >= before


def test_the_same_point_twice_and_equal_values_are_no_trouble() -> None:
    model = GaussianProcess([0, 1])
    points = np.zeros((4, 2))
    model.fit(points, np.zeros(4))
    model.condition(points, np.zeros(4))
    mean, deviation = model.predict(np.ones((1, 2)))
    assert mean[0] == 0.0
    assert np.isfinite(deviation[0])


def test_the_jitter_bounds_the_deviation_from_below() -> None:
    model = GaussianProcess([0])
    model.condition(np.linspace(0, 1, 50)[:, None], np.zeros(50))
    _, deviation = model.predict(np.linspace(0, 1, 7)[:, None])
    assert (deviation >= np.sqrt(gaussian_process._JITTER)).all()
