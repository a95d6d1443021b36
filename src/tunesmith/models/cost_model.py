"""The protocol of cost models, which learn values from features."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

Objective = Literal["rank", "regression"]
"""What a model may learn: the order of values alone, or the values."""


class Prediction(NamedTuple):
    """A model's prediction for n points.

    ``means`` have shape (n,), or (n, k) if the model learned k values per point. ``deviations``,
    shape (n,), are standard deviations; None if the model does not estimate its uncertainty.
    """

    means: Array
    deviations: Array | None


class CostModel(Protocol):
    """Predicts a value from the features of a config.

    The value may be seconds, their logarithm, or calls per second. The constructor takes the number
    of features; a model knows neither spaces nor TVM. Its tests inherit the suite in
    ``tunesmith.testing.cost_model``.
    """

    def fit(self, features: Array, values: Array) -> None:
        """Learn from n points, at least one, and forget all earlier ones.

        ``features`` have shape (n, features), ``values`` (n,); all are finite. A model may raise
        what its library does: the tuner ``autotvm`` goes on without it.
        """
        ...

    def predict(self, features: Array) -> Prediction:
        """Predict the values of m points, shape (m, features). Call ``fit`` first."""
        ...
