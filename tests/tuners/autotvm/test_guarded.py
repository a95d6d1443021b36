"""Whatever a cost model does wrong is one kind of error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.models import Prediction
from tunesmith.models.cost_model import Array
from tunesmith.tuners.autotvm.guarded import Guarded, ModelFailedError

FEATURES = np.array([[1.0], [2.0], [3.0]])


class Same:
    """Predicts the same for all points, or raises."""

    def __init__(
        self, mean: float = 1.0, deviation: float | None = None, error: Exception | None = None
    ) -> None:
        self.mean, self.deviation, self.error = mean, deviation, error

    def fit(self, features: Array, values: Array) -> None:
        if self.error is not None:
            raise self.error

    def predict(self, features: Array) -> Prediction:
        deviations = None if self.deviation is None else np.full(len(features), self.deviation)
        return Prediction(np.full(len(features), self.mean), deviations)


def test_what_is_right_is_left_alone() -> None:
    model = Guarded(Same(2.0, 0.5))
    model.fit(FEATURES, FEATURES[:, 0])
    means, deviations = model.predict(FEATURES)
    assert means.tolist() == [2.0] * 3
    assert deviations is not None
    assert deviations.tolist() == [0.5] * 3


@pytest.mark.parametrize(
    "wrong", [Same(math.nan), Same(math.inf), Same(1.0, math.nan), Same(1.0, math.inf)]
)
def test_predictions_that_are_no_numbers(wrong: Same) -> None:
    with pytest.raises(ModelFailedError, match="predicts what is no number"):
        Guarded(wrong).predict(FEATURES)


def test_whatever_a_model_raises() -> None:
    model = Guarded(Same(error=ZeroDivisionError("by zero")))
    with pytest.raises(ModelFailedError, match=r"model failed \(ZeroDivisionError: by zero"):
        model.fit(FEATURES, FEATURES[:, 0])


def test_predictions_of_another_form() -> None:
    class Bare(Same):
        def predict(self, features: Array) -> Prediction:
            return np.ones(len(features))  # type: ignore[return-value] # what a plug-in may do

    with pytest.raises(ModelFailedError, match="model failed"):
        Guarded(Bare()).predict(FEATURES)
