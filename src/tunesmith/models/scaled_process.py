"""The Gaussian process as a cost model, for features and values of any unit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tunesmith.models.cost_model import Prediction
from tunesmith.models.distances import typical_distance
from tunesmith.models.gaussian_process import FITTED, GaussianProcess

Array = npt.NDArray[np.float64]


class ScaledProcess:
    """A ``CostModel`` with uncertainty: a ``GaussianProcess`` of what it is made for.

    Each feature is scaled so that the known points lie between 0 and 1, values to mean 0 and
    deviation 1. So a point far from all others has the mean of the known values. Length scales
    begin at the mean distance of two known points.
    """

    def __init__(self, features: int) -> None:
        self._low: Array = np.zeros(features)
        self._range: Array = np.ones(features)
        self._mean, self._deviation = 0.0, 1.0
        self._process = GaussianProcess(features)

    def fit(self, features: Array, values: Array) -> None:
        """As in ``CostModel``."""
        self._low = features.min(axis=0)
        self._range = _or_1(features.max(axis=0) - self._low)
        self._mean, self._deviation = float(values.mean()), float(_or_1(values.std()))
        points = self._scaled(features)
        standardised = (values - self._mean) / self._deviation
        some = np.random.default_rng(0).permutation(len(points))[:FITTED]
        self._process = GaussianProcess(points.shape[1], distance=typical_distance(points[some]))
        self._process.adapt(points[some], standardised[some])
        self._process.condition(points, standardised)

    def predict(self, features: Array) -> Prediction:
        """As in ``CostModel``. Deviations are without noise."""
        means, deviations = self._process.predict(self._scaled(features))
        assert deviations is not None
        return Prediction(self._mean + self._deviation * means, self._deviation * deviations)

    def _scaled(self, features: Array) -> Array:
        scaled: Array = (features - self._low) / self._range
        return scaled


def _or_1(sizes: npt.ArrayLike) -> Array:
    """Sizes to divide by: 1 for those that are 0."""
    found: Array = np.where(np.asarray(sizes) > 0.0, sizes, 1.0)
    return found
