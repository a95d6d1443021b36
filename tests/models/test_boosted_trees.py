"""Boosted trees: the rank objective against its definition, and what a search relies on."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.models import CostModel, cost_model
from tunesmith.models.boosted_trees import BoostedTrees, Growth, RankPairs, _RankObjective
from tunesmith.models.ensemble import BootstrapEnsemble
from tunesmith.testing.cost_model import CostModelConformance

Array = npt.NDArray[np.float64]

pytest.importorskip("xgboost", reason="XGBoost is not installed")


class TestRank(CostModelConformance):
    least_rank_correlation = 0.9
    orders_only = True

    def make_model(self, features: int) -> CostModel:
        return BoostedTrees(features)


class TestRegression(CostModelConformance):
    least_rank_correlation = 0.9

    def make_model(self, features: int) -> CostModel:
        return BoostedTrees(features, "regression")


class TestEnsemble(CostModelConformance):
    orders_only = True
    surer_near_known = False

    def make_model(self, features: int) -> CostModel:
        return BootstrapEnsemble(lambda: BoostedTrees(features, growth=Growth(rounds=20)))


def derivatives_of_all_pairs(values: Array, predictions: Array) -> tuple[Array, Array]:
    """Those of equation 2, pair by pair."""
    better = np.sign(values[:, None] - values[None, :])
    chance = 1.0 / (1.0 + np.exp(better * (predictions[:, None] - predictions[None, :])))
    first = -(better * chance).sum(axis=1) / len(values)
    second = (np.abs(better) * chance * (1.0 - chance)).sum(axis=1) / len(values)
    return first, second


@pytest.mark.parametrize("count", [1, 2, 127, 128, 129, 300])
@pytest.mark.parametrize("scale", [3.0, 60.0])
def test_the_derivatives_are_those_of_all_pairs(count: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    values = np.round(rng.random(count), 2)  # with ties
    predictions = np.round(scale * rng.standard_normal(count), 3)
    first, second = RankPairs(values).derivatives(predictions)
    expected_first, expected_second = derivatives_of_all_pairs(values, predictions)
    np.testing.assert_allclose(first, expected_first, atol=1e-5)
    np.testing.assert_allclose(second, np.maximum(expected_second, 1e-6), atol=1e-5)


def test_failures_beyond_a_block_are_ties() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(200), rng.random(150)])
    predictions = rng.standard_normal(350)
    found = RankPairs(values).derivatives(predictions)
    np.testing.assert_allclose(found, derivatives_of_all_pairs(values, predictions), atol=1e-6)


@pytest.mark.parametrize(("count", "parts"), [(2048, 1), (2049, 2), (5000, 3)])
def test_many_points_of_a_group_are_compared_within_parts(count: int, parts: int) -> None:
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat([3, 7], [40, count]))
    small, large = np.flatnonzero(groups == 3), np.flatnonzero(groups == 7)
    values, predictions = rng.random(len(groups)), rng.standard_normal(len(groups))
    found = np.array(_RankObjective(values, groups)(predictions, None))
    for those in (small, *(large[part::parts] for part in range(parts))):
        expected = RankPairs(values[those]).derivatives(predictions[those])
        np.testing.assert_array_equal(found[:, those], expected)


def test_three_points_by_hand() -> None:
    """All predictions are equal: each pair pulls with 1/2."""
    first, second = RankPairs(np.array([3.0, 1.0, 2.0])).derivatives(np.zeros(3))
    np.testing.assert_allclose(first * 3, [-1.0, 1.0, 0.0])
    np.testing.assert_allclose(second * 3, [0.5, 0.5, 0.5])


def test_ties_are_no_pairs() -> None:
    first, _ = RankPairs(np.array([1.0, 1.0, 1.0])).derivatives(np.array([0.0, 5.0, 9.0]))
    assert (first == 0.0).all()


def test_a_rank_model_does_not_care_for_the_scale_of_values() -> None:
    rng = np.random.default_rng(0)
    features, others = rng.random((100, 3)), rng.random((50, 3))
    values = 1.0 + features[:, 0]
    model = BoostedTrees(3)
    model.fit(features, values)
    order = np.argsort(model.predict(others).means)
    model.fit(features, values**5)
    assert (np.argsort(model.predict(others).means) == order).all()


def test_only_points_of_a_group_are_compared() -> None:
    """Tasks of 1 and 1000 s, by whose sizes alone points of two tasks differ."""
    rng = np.random.default_rng(0)
    features = rng.random((120, 2))
    groups = np.tile([0, 1], 60)
    features[:, 1] = groups
    values = features[:, 0] * np.where(groups, 1000.0, 1.0)
    model = BoostedTrees(2)
    model.fit(features, values, groups)
    same = np.array([[0.5, 0.0], [0.5, 1.0], [0.9, 0.0], [0.9, 1.0]])
    in_groups = model.predict(same).means
    model.fit(features, values)
    together = model.predict(same).means
    assert in_groups[2] > in_groups[1]
    assert together[2] < together[1]


@pytest.mark.parametrize("working", [1, 2, 4, 5, 8])
def test_few_that_work_among_many_that_fail(working: int) -> None:
    features = np.random.default_rng(0).random((64, 4))
    features[:, 1] = np.arange(64) < working
    values = np.where(features[:, 1] > 0.0, 1.0 + features[:, 0], 0.0)
    model = BoostedTrees(4, "rank")
    model.fit(features, values)
    predicted = model.predict(features).means
    assert predicted[:working].min() > predicted[working:].max()


@pytest.mark.parametrize("working", [5, 64])
def test_a_leaf_needs_all_of_its_weight_where_some_work(working: int) -> None:
    values = np.maximum(np.arange(64.0) - (64 - working) + 1.0, 0.0)
    assert _RankObjective(values, None).least_weight == 1.0
    last = np.where(np.arange(64) == 63, values, 0.0)
    assert _RankObjective(last, None).least_weight == pytest.approx(1 / 25)


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_a_leaf_needs_all_of_its_weight_where_nothing_fails(count: int) -> None:
    assert _RankObjective(np.arange(float(count)), None).least_weight == 1.0


def test_unknown_features_are_allowed() -> None:
    rng = np.random.default_rng(0)
    features = rng.random((100, 2))
    values = features[:, 0].copy()
    features[::5, 1] = np.nan
    model = BoostedTrees(2, "regression")
    model.fit(features, values)
    assert np.isfinite(model.predict(features).means).all()


def test_an_unknown_objective() -> None:
    with pytest.raises(UsageError, match="the objective must be rank or regression, not 'ranks'"):
        BoostedTrees(2, "ranks")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"unknown objective of boosted-trees 'ranks'"):
        cost_model("boosted-trees", 2, "ranks")
    with pytest.raises(UsageError, match="'knn' has no choice of objectives: leave it out"):
        cost_model("knn", 2, "rank")


@pytest.mark.parametrize("depth", [0, 9])
def test_too_many_levels_and_none(depth: int) -> None:
    with pytest.raises(UsageError, match=rf"trees have 1 to 8 levels, not {depth}"):
        BoostedTrees(2, growth=Growth(depth=depth))


def test_another_number_of_features() -> None:
    model = BoostedTrees(2)
    model.fit(np.eye(2), np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="the model has 2 features, not 3"):
        model.predict(np.zeros((4, 3)))


def test_without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tunesmith\[models\]'"):
        BoostedTrees(2)


def test_an_xgboost_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It raises errors of its own where its library, or that of OpenMP, is missing."""
    (tmp_path / "xgboost.py").write_text("raise ValueError('no libgomp.so.1\\nInstall it')")
    monkeypatch.delitem(sys.modules, "xgboost")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingDependencyError, match=r"cannot be loaded: no libgomp\.so\.1$"):
        BoostedTrees(2)
