"""What a cost model thinks that configs are worth, in a unit that means the same for all models."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tunesmith.errors import TunesmithError, describe
from tunesmith.models import CostModel, Prediction
from tunesmith.models.acquisition import Acquisition, acquire

Array = npt.NDArray[np.float64]


class ModelFailedError(TunesmithError):
    """A cost model could not learn, or predicts what is no number. A search can do without."""


class Judge:
    """Says what configs are worth, by their features, in deviations of the predictions.

    Methods raise ``ModelFailedError`` whatever the model raises: it may be anybody's.
    """

    def __init__(self, model: CostModel, acquisition: Acquisition) -> None:
        self._model = model
        self._acquisition = acquisition
        self._best = 0.0
        self._scale = 1.0

    def learn(self, features: Array, values: Array, prior: Array | float = 0.0) -> None:
        """Learn the values, shape (n,), of features, shape (n, features), of which ``prior`` is
        known."""
        with _failures():
            self._model.fit(features, values - prior)
        known = self._predicted(features).means + prior
        self._best = float(known.max())
        self._scale = float(known.std()) or 1.0

    def worth(self, features: Array, prior: Array | float = 0.0) -> Array:
        """What features, shape (m, features), are worth; shape (m,)."""
        means, deviations = self._predicted(features)
        prediction = Prediction(means + prior, deviations)
        return acquire(self._acquisition, prediction, self._best) / self._scale

    def _predicted(self, features: Array) -> Prediction:
        with _failures():
            prediction = self._model.predict(features)
        means, deviations = prediction
        if not np.isfinite(means if deviations is None else means + deviations).all():
            raise ModelFailedError("the cost model predicts what is no number")
        return prediction


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ModelFailedError(f"the cost model failed ({describe(error)})") from error
