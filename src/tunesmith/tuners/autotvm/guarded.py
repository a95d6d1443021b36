"""A cost model that may fail, as it may be anybody's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tunesmith.errors import TunesmithError, describe
from tunesmith.models import CostModel, Prediction

Array = npt.NDArray[np.float64]


class ModelFailedError(TunesmithError):
    """A cost model could not learn, or predicts what is no number. A search can do without."""


class Guarded:
    """A ``CostModel`` that raises ``ModelFailedError`` whatever the ``model`` raises, and where it
    predicts what is no number."""

    def __init__(self, model: CostModel) -> None:
        self._model = model

    def fit(self, features: Array, values: Array) -> None:
        """As in ``CostModel``."""
        with _failures():
            self._model.fit(features, values)

    def predict(self, features: Array) -> Prediction:
        """As in ``CostModel``."""
        with _failures():
            means, deviations = self._model.predict(features)
            sound = np.isfinite(means if deviations is None else means + deviations).all()
        if not sound:
            raise ModelFailedError("the cost model predicts what is no number")
        return Prediction(means, deviations)


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ModelFailedError(f"the cost model failed ({describe(error)})") from error
