"""What every cost model does: learn costs from features, and predict those of other features."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Prediction(NamedTuple):
    """What a model thinks of n points.

    ``means`` has shape (n,), or (n, k) where k values were given for each point. ``deviations``,
    shape (n,), says how far the truth may be from them, as standard deviations; None where the
    model has no idea.
    """

    means: Array
    deviations: Array | None


class CostModel(Protocol):
    """Predicts a value from the features of a config.

    The value may be anything that has an order: seconds, their logarithm, calls a second. A model
    is made for a number of features, and knows neither spaces nor TVM.
    ``tunesmith.testing.cost_model`` has the suite that every model passes.
    """

    def fit(self, features: Array, values: Array) -> None:
        """Learn from n points, at least one; replaces what was known before.

        ``features`` have shape (n, features), ``values`` (n,), all of them finite.
        """
        ...

    def predict(self, features: Array) -> Prediction:
        """The values of m points, shape (m, features); only after ``fit``."""
        ...
