"""The conformance suite of cost models: inherit it, say how one is made, and pytest does the rest.

::

    from tunesmith.testing.cost_model import CostModelConformance

    class TestMine(CostModelConformance):
        def make_model(self, features: int) -> CostModel:
            return Mine(features)

It checks what a search relies on, whatever is learned and however: see the names of its tests.
Needs pytest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.models import CostModel, Prediction

Array = npt.NDArray[np.float64]

_FEATURES = 4


def points(count: int, seed: int = 0) -> Array:
    """Features between 0 and 1, shape (count, 4)."""
    return np.random.default_rng(seed).random((count, _FEATURES))


def slope(features: Array) -> Array:
    """A smooth value between 1 and 3, to which the first feature matters most, the last not."""
    values: Array = 1.0 + features @ np.array([1.3, 0.5, 0.2, 0.0])
    return values


class CostModelConformance(ABC):
    """The tests. A subclass sets the flags where its model differs."""

    #: Spearman's correlation for 200 points, after it has learned from 100 of a smooth function.
    least_rank_correlation: float = 0.7
    #: Its predictions have the order of the values, but neither their unit nor their scale.
    orders_only: bool = False
    #: By how much predictions of the same point may differ, relatively: float32 rounds.
    prediction_tolerance: float = 1e-9
    #: Far from all known points it says that it is less sure. Trees are constant there.
    surer_near_known: bool = True

    @abstractmethod
    def make_model(self, features: int) -> CostModel:
        """A new model for so many features."""

    def learned(self, features: Array, values: Array) -> CostModel:
        """A new model that has learned from these."""
        model = self.make_model(features.shape[1])
        model.fit(features, values)
        return model

    def predicted(self, model: CostModel, features: Array) -> Prediction:
        """What a model predicts, which must be finite and of the right shape."""
        prediction = model.predict(features)
        assert prediction.means.shape == (len(features),)
        assert np.isfinite(prediction.means).all()
        if prediction.deviations is not None:
            assert prediction.deviations.shape == (len(features),)
            assert np.isfinite(prediction.deviations).all()
            assert (prediction.deviations >= 0.0).all()
        return prediction

    # -- what it learns --------------------------------------------------------------------------

    def test_it_orders_points_that_it_has_not_seen(self) -> None:
        known, others = points(100), points(200, seed=1)
        model = self.learned(known, slope(known))
        correlation = _rank_correlation(self.predicted(model, others).means, slope(others))
        assert correlation >= self.least_rank_correlation

    def test_features_and_values_of_any_unit(self) -> None:
        """Features of programs are logarithms, some below 0; speeds may be far from 0 and 1."""
        unit, zero = np.array([20.0, 0.1, 5.0, 1.0]), np.array([-15.0, 0.0, 3.0, -1.0])
        known, others = points(100), points(200, seed=1)
        model = self.learned(known * unit + zero, 10.0 + 0.1 * slope(known))
        means = self.predicted(model, others * unit + zero).means
        assert _rank_correlation(means, slope(others)) >= self.least_rank_correlation

    def test_more_points_do_not_make_it_worse(self) -> None:
        others = points(200, seed=1)

        def error(count: int) -> float:
            known = points(count)
            means = self.predicted(self.learned(known, slope(known)), others).means
            if self.orders_only:
                return 1.0 - _rank_correlation(means, slope(others))
            return float(np.abs(means - slope(others)).mean())

        assert error(200) < error(10)

    def test_what_is_learned_anew_replaces_what_was_known(self) -> None:
        known, others = points(60), points(100, seed=1)
        model = self.learned(known, slope(known))
        model.fit(known, 4.0 - slope(known))
        assert _rank_correlation(self.predicted(model, others).means, slope(others)) < -0.5

    def test_it_is_surer_where_it_knows_something(self) -> None:
        if not self.surer_near_known:
            pytest.skip("the model does not claim to know where it knows little")
        known = points(40) * 0.2
        model = self.learned(known, slope(known))
        near = self.predicted(model, known).deviations
        far = self.predicted(model, points(40, seed=1) * 0.2 + 0.8).deviations
        if near is None or far is None:
            pytest.skip("the model says nothing of its uncertainty")
        assert near.mean() < far.mean()

    # -- what it has to put up with --------------------------------------------------------------

    @pytest.mark.parametrize("count", [1, 2])
    def test_very_few_points(self, count: int) -> None:
        known = points(count)
        self.predicted(self.learned(known, slope(known)), points(5, seed=1))

    def test_equal_values(self) -> None:
        known = points(20)
        for value in (0.0, 3.0):
            model = self.learned(known, np.full(20, value))
            means = self.predicted(model, points(5, seed=1)).means
            expected = means.mean() if self.orders_only else value
            np.testing.assert_allclose(means, expected, atol=1e-6 + 0.01 * value)

    def test_equal_points_with_different_values(self) -> None:
        known = np.repeat(points(5), 4, axis=0)
        values = slope(known) + np.tile([0.0, 0.1, 0.2, 0.3], 5)
        self.predicted(self.learned(known, values), points(5, seed=1))

    def test_features_that_never_change(self) -> None:
        known, others = points(60), points(50, seed=1)
        known[:, 2:], others[:, 2:] = 0.0, 0.0
        means = self.predicted(self.learned(known, slope(known)), others).means
        assert _rank_correlation(means, slope(others)) > 0.5

    def test_nothing_to_predict(self) -> None:
        known = points(10)
        self.predicted(self.learned(known, slope(known)), points(0))

    # -- what a run relies on --------------------------------------------------------------------

    def test_the_same_data_give_the_same_predictions(self) -> None:
        known, others = points(50), points(20, seed=1)
        first = self.predicted(self.learned(known, slope(known)), others)
        second = self.predicted(self.learned(known, slope(known)), others)
        assert (first.means == second.means).all()

    def test_a_prediction_changes_nothing(self) -> None:
        known, others = points(50), points(20, seed=1)
        model = self.learned(known, slope(known))
        first = self.predicted(model, others).means.copy()
        self.predicted(model, points(20, seed=2))
        assert (self.predicted(model, others).means == first).all()

    def test_points_are_predicted_each_for_itself(self) -> None:
        known, others = points(50), points(20, seed=1)
        model = self.learned(known, slope(known))
        together = self.predicted(model, others).means
        alone = [self.predicted(model, others[place : place + 1]).means[0] for place in range(20)]
        np.testing.assert_allclose(together, alone, rtol=self.prediction_tolerance)

    def test_what_it_was_given_may_change_afterwards(self) -> None:
        known, values, others = points(50), slope(points(50)), points(20, seed=1)
        model = self.learned(known, values)
        first = self.predicted(model, others).means.copy()
        known[:], values[:] = 0.5, 7.0
        assert (self.predicted(model, others).means == first).all()


def _rank_correlation(one: Array, other: Array) -> float:
    """Spearman's, without ties."""
    ranks = np.argsort(np.argsort(np.stack([one, other]), axis=1), axis=1)
    correlations = np.asarray(np.corrcoef(ranks))
    return float(correlations[0, 1])
