"""The Gaussian process against what can be worked out by hand or with numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.models import gaussian_process
from tunesmith.models.gaussian_process import (
    GaussianProcess,
    _apart,
    _Hyperparameters,
    _log_posterior,
    _Prior,
)

Array = npt.NDArray[np.float64]
RNG = np.random.default_rng(0)
POINTS = RNG.random((20, 3))
VALUES = np.sin(6 * POINTS[:, 0]) + 0.01 * RNG.standard_normal(20)


def test_a_single_known_value() -> None:
    model = GaussianProcess(2)
    model.condition(np.array([[0.5, 0.5]]), np.array([2.0]))
    mean, deviation = model.predict(np.array([[0.5, 0.5], [0.75, 0.25]]))
    assert deviation is not None
    noise = 1e-2 + 1e-8
    near = np.exp(-0.5)  # two coordinates, a quarter away each, scales and amplitude 1
    np.testing.assert_allclose(mean, [2 / (1 + noise), 2 * near / (1 + noise)])
    np.testing.assert_allclose(deviation, np.sqrt([1 - 1 / (1 + noise), 1 - near**2 / (1 + noise)]))


def log_posterior(logs: Array, groups: list[int]) -> tuple[float, Array]:
    numbers = np.array(groups)
    count = max(groups) + 1
    apart = _apart(POINTS, numbers, count)
    return _log_posterior(_Hyperparameters(logs, numbers), _Prior.of(count, 2.0), apart, VALUES)


@pytest.mark.parametrize("groups", [[0, 1, 2], [0, 1, 1]])
def test_the_gradient_is_that_of_the_posterior(groups: list[int]) -> None:
    logs = np.append([0.3, -0.5, 0.1][: max(groups) + 1], [0.2, -3.0])
    _, gradient = log_posterior(logs, groups)
    for index in range(len(logs)):
        step = np.zeros(len(logs))
        step[index] = 1e-5
        above, _ = log_posterior(logs + step, groups)
        below, _ = log_posterior(logs - step, groups)
        assert (above - below) / 2e-5 == pytest.approx(gradient[index], rel=1e-3, abs=1e-4)


def test_fitting_finds_what_matters() -> None:
    model = GaussianProcess(3)
    for _ in range(5):
        model.adapt(POINTS, VALUES)
    scales = model._found.scales
    assert scales[0] < scales[1]
    assert scales[0] < scales[2]
    model.condition(POINTS, VALUES)
    fresh = RNG.random((200, 3))
    mean, deviation = model.predict(fresh)
    assert deviation is not None
    truth = np.sin(6 * fresh[:, 0])
    assert np.corrcoef(mean, truth)[0, 1] > 0.8
    assert (np.abs(mean - truth) < 3 * deviation).mean() > 0.9


def test_fitting_never_ends_with_less_than_it_began_with() -> None:
    model = GaussianProcess(3, distance=2.0)
    before, _ = log_posterior(model._found.logs, [0, 1, 2])
    model.adapt(POINTS, VALUES, steps=3)
    after, _ = log_posterior(model._found.logs, [0, 1, 2])
    assert after >= before


def test_the_same_point_twice_and_equal_values_are_no_trouble() -> None:
    model = GaussianProcess(2)
    points = np.zeros((4, 2))
    model.adapt(points, np.zeros(4))
    model.condition(points, np.zeros(4))
    mean, deviation = model.predict(np.ones((1, 2)))
    assert mean[0] == 0.0
    assert deviation is not None
    assert np.isfinite(deviation[0])


def test_the_jitter_bounds_the_deviation_from_below() -> None:
    model = GaussianProcess(1)
    model.condition(np.linspace(0, 1, 50)[:, None], np.zeros(50))
    _, deviation = model.predict(np.linspace(0, 1, 7)[:, None])
    assert deviation is not None
    assert (deviation >= np.sqrt(gaussian_process._JITTER)).all()


def test_several_functions_are_predicted_at_once() -> None:
    model = GaussianProcess(3)
    fresh = RNG.random((5, 3))
    alone = []
    for values in (VALUES, -2 * VALUES):
        model.condition(POINTS, values)
        alone.append(model.predict(fresh))
    model.condition(POINTS, np.stack([VALUES, -2 * VALUES], axis=1))
    means, deviations = model.predict(fresh)
    assert deviations is not None
    np.testing.assert_allclose(means, np.stack([one.means for one in alone], axis=1))
    assert alone[0].deviations is not None
    np.testing.assert_allclose(deviations, alone[0].deviations)


def test_what_is_expected_is_as_if_it_were_known() -> None:
    """Points that turn out as predicted: the posterior is that of a model that knows them."""
    model, fresh = GaussianProcess(3), RNG.random((30, 3))
    model.adapt(POINTS, VALUES)
    model.condition(POINTS, VALUES)
    posterior = model.posterior(fresh)
    chosen = [4, 17, 4, 9]
    for number in chosen:
        posterior.expect(number)
    known = np.vstack([POINTS, fresh[chosen]])
    model.condition(known, np.concatenate([VALUES, posterior.means[chosen]]))
    means, deviations = model.predict(fresh)
    assert deviations is not None
    np.testing.assert_allclose(posterior.means, means, atol=1e-9)
    np.testing.assert_allclose(posterior.deviations, deviations, rtol=1e-6)


def test_coordinates_of_a_group_share_a_scale() -> None:
    model = GaussianProcess(4, groups=[0, 0, 1, 2])
    model.adapt(RNG.random((20, 4)), VALUES)
    scales = model._found.scales
    assert scales.shape == (4,)
    assert scales[0] == scales[1]
    assert len(set(scales)) == 3


def test_a_wide_space_is_no_rougher_than_a_narrow_one() -> None:
    """Scales begin at the typical distance, so that this is what two typical points share."""
    shared = []
    for count in (3, 120):
        points = RNG.random((60, count))
        distance = float(np.abs(points[:30] - points[30:]).sum(axis=1).mean())
        model = GaussianProcess(count, distance=distance)
        model.condition(points[:30], np.ones(30))
        shared.append(float(np.median(model._covariance(points[30:]))))
    assert shared == pytest.approx([np.exp(-1.0)] * 2, rel=0.25)
