"""What configs are worth: the model's means beside what is known, in deviations."""

from __future__ import annotations

import numpy as np

from tunesmith.models import Prediction
from tunesmith.models.cost_model import Array
from tunesmith.tuners.autotvm.judge import Judge


class Remembered:
    """Predicts the first feature times the slope that it has learned."""

    def fit(
        self,
        features: Array,
        values: Array,
    ) -> None:
        self.slope = float(values @ features[:, 0] / (features[:, 0] @ features[:, 0]))

    def predict(self, features: Array) -> Prediction:
        return Prediction(self.slope * features[:, 0], np.ones(len(features)))


FEATURES = np.array([[1.0], [2.0], [3.0]])


def test_worth_has_the_deviation_of_what_was_observed() -> None:
    judge = Judge(Remembered(), "mean")
    judge.learn(FEATURES, 10.0 * FEATURES[:, 0])
    worth = judge.worth(FEATURES)
    assert np.isclose(worth.std(), 1.0)
    assert np.allclose(worth / worth[0], [1.0, 2.0, 3.0])


def test_the_model_learns_what_the_prior_leaves() -> None:
    model = Remembered()
    judge = Judge(model, "mean")
    prior = 4.0 * FEATURES[:, 0]
    judge.learn(FEATURES, 10.0 * FEATURES[:, 0], prior)
    assert np.isclose(model.slope, 6.0)
    without = judge.worth(FEATURES)
    assert np.allclose(judge.worth(FEATURES, prior) / without, 10.0 / 6.0)


def test_what_is_uncertain_may_be_worth_more() -> None:
    means, bounds = (Judge(Remembered(), it) for it in ("mean", "upper-confidence-bound"))
    for judge in (means, bounds):
        judge.learn(FEATURES, FEATURES[:, 0])
    assert (bounds.worth(FEATURES) > means.worth(FEATURES)).all()
