"""Ensembles of models that learn from resampled points: their differences are an uncertainty.

"Learning to Optimize Tensor Programs", section 3.3, takes uncertainty from bootstrapping; in its
section 6.1 (figure 7) ensembles have five models.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tunesmith.models.cost_model import CostModel, Prediction

Array = npt.NDArray[np.float64]

MEMBERS = 5
"""How many models the paper's ensembles have."""


class BootstrapEnsemble:
    """A ``CostModel`` with uncertainty, of ``members`` models by ``make``.

    Each learns from as many points as there are, drawn with replacement. Predictions are means and
    standard deviations over the members.
    """

    def __init__(
        self, make: Callable[[], CostModel], members: int = MEMBERS, seed: int = 0
    ) -> None:
        self._models = [make() for _ in range(members)]
        self._seed = seed

    @property
    def members(self) -> int:
        """How many models predict together."""
        return len(self._models)

    def fit(self, features: Array, values: Array) -> None:
        """As in ``CostModel``."""
        rng = np.random.default_rng(self._seed)
        for model in self._models:
            drawn = rng.integers(len(values), size=len(values))
            model.fit(features[drawn], values[drawn])

    def predict(self, features: Array) -> Prediction:
        """As in ``CostModel``."""
        means = np.array([model.predict(features).means for model in self._models])
        return Prediction(means.mean(axis=0), means.std(axis=0))
