"""What a cost model thinks that configs are worth, in a unit that means the same for all models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tunesmith.models import CostModel, Prediction
from tunesmith.models.acquisition import Acquisition, acquire
from tunesmith.tuners.autotvm.guarded import Guarded

Array = npt.NDArray[np.float64]


class Judge:
    """Says what configs are worth, by their features, in deviations of the predictions.

    Methods raise ``ModelFailedError`` where the model fails.
    """

    def __init__(self, model: CostModel, acquisition: Acquisition) -> None:
        self._model = Guarded(model)
        self._acquisition = acquisition
        self._best = 0.0
        self._scale = 1.0

    def learn(self, features: Array, values: Array, prior: Array | float = 0.0) -> None:
        """Learn the values, shape (n,), of features, shape (n, features), of which ``prior`` is
        known."""
        self._model.fit(features, values - prior)
        known = self._model.predict(features).means + prior
        self._best = float(known.max())
        self._scale = float(known.std()) or 1.0

    def worth(self, features: Array, prior: Array | float = 0.0) -> Array:
        """What features, shape (m, features), are worth; shape (m,)."""
        means, deviations = self._model.predict(features)
        prediction = Prediction(means + prior, deviations)
        return acquire(self._acquisition, prediction, self._best) / self._scale
