"""The Gaussian process as a cost model."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.models import CostModel
from tunesmith.models.scaled_process import ScaledProcess
from tunesmith.testing.cost_model import CostModelConformance, points, slope


class TestScaledProcess(CostModelConformance):
    least_rank_correlation = 0.95

    def make_model(self, features: int) -> CostModel:
        return ScaledProcess(features)


def test_units_make_no_difference() -> None:
    known, others = points(60), points(40, seed=1)
    plain, other = ScaledProcess(4), ScaledProcess(4)
    plain.fit(known, slope(known))
    unit, zero = np.array([1e-3, 1.0, 50.0, 1e4]), np.array([0.0, -15.0, 3.0, -1e4])
    other.fit(known * unit + zero, 1e6 * slope(known) - 1e7)
    expected, found = plain.predict(others), other.predict(others * unit + zero)
    np.testing.assert_allclose(found.means, 1e6 * expected.means - 1e7, rtol=1e-6)
    assert expected.deviations is not None
    assert found.deviations is not None
    np.testing.assert_allclose(found.deviations, 1e6 * expected.deviations, rtol=1e-3)


def test_far_from_all_it_says_the_mean() -> None:
    known = points(60)
    model = ScaledProcess(4)
    model.fit(known, slope(known))
    means, deviations = model.predict(np.array([[1e3] * 4, [-1e3] * 4]))
    assert means == pytest.approx(slope(known).mean())
    assert deviations is not None
    assert (deviations >= model.predict(known).deviations.max()).all()  # type: ignore[union-attr]


def test_many_points_of_many_features() -> None:
    rng = np.random.default_rng(0)
    known, others = rng.normal(size=(400, 60)), rng.normal(size=(100, 60))
    model = ScaledProcess(60)
    model.fit(known, known[:, 0])
    assert np.corrcoef(model.predict(others).means, others[:, 0])[0, 1] > 0.3
