"""Trees in NumPy: the same numbers as XGBoost's, with missing values, and after a file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.models.boosted_trees import BoostedTrees, Growth
from tunesmith.models.cost_model import Objective
from tunesmith.models.trees import Trees

xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")

Array = npt.NDArray[np.float64]


def data(count: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 6))
    features[rng.random(features.shape) < 0.2] = np.nan
    known = np.nan_to_num(features)
    return features, known[:, 0] ** 2 + 3.0 * known[:, 1] * known[:, 2] + 40.0


def grown(depth: int, base: float) -> tuple[Any, Trees]:
    """XGBoost's own, and what we made of them. Their base is a float32."""
    features, values = data(300, 0)
    given = {"max_depth": depth, "base_score": base, "nthread": 1, "tree_method": "hist"}
    theirs = xgboost.train(given, xgboost.DMatrix(features, label=values), 30)
    learner = json.loads(theirs.save_raw("json"))["learner"]
    return theirs, Trees.of(learner["gradient_booster"]["model"]["trees"])


@pytest.mark.parametrize("depth", [1, 3, 8])
@pytest.mark.parametrize("rows", [1, 2, 128, 129, 700])
@pytest.mark.parametrize("missing", [False, True])
def test_they_predict_what_xgboost_predicts(depth: int, rows: int, missing: bool) -> None:
    theirs, ours = grown(depth, base := 0.3)
    features, _ = data(rows, 1)
    if not missing:
        features = np.nan_to_num(features)
    expected = theirs.inplace_predict(features, predict_type="margin")
    margins = ours.margins(features, base)
    assert margins.dtype == np.float32
    np.testing.assert_array_equal(margins, expected)
    np.testing.assert_allclose(base + ours.predict(features), expected, rtol=1e-5)
    assert ours.depth == depth


def test_a_row_where_a_threshold_is_goes_right() -> None:
    theirs, ours = grown(3, 0.0)
    is_leaf = ours.left == np.arange(len(ours.left))
    features = np.zeros((int((~is_leaf).sum()), 6))
    features[np.arange(len(features)), ours.feature[~is_leaf]] = ours.threshold[~is_leaf]
    expected = theirs.inplace_predict(features, predict_type="margin")
    np.testing.assert_array_equal(ours.margins(features, 0.0), expected)


@pytest.mark.parametrize("objective", ["rank", "regression"])
def test_a_model_gives_its_trees(objective: Objective) -> None:
    model = BoostedTrees(6, objective=objective, growth=Growth(rounds=30))
    model.fit(*data(300, 0))
    features, _ = data(700, 1)
    expected = model.predict(features).means
    np.testing.assert_allclose(model.trees().predict(features), expected, rtol=1e-4, atol=1e-4)
    assert np.ptp(expected) > 0.1


def test_too_deep_trees() -> None:
    """A chain of 9 splits, each of whose left child is a leaf."""
    nodes = range(9)
    chain = {
        "left_children": [child for node in nodes for child in (2 * node + 1, -1)] + [-1],
        "right_children": [child for node in nodes for child in (2 * node + 2, -1)] + [-1],
        "split_indices": [0] * 19,
        "split_conditions": [0.0] * 19,
        "default_left": [0] * 19,
    }
    with pytest.raises(ValueError, match="at most 8 levels of splits, not 9"):
        Trees.of([chain])


def test_a_file_has_all_of_them() -> None:
    model = BoostedTrees(6, growth=Growth(rounds=12))
    model.fit(*data(200, 2))
    trees = model.trees()
    again = Trees.from_json(json.loads(json.dumps(trees.to_json())))
    features, _ = data(300, 3)
    np.testing.assert_array_equal(again.predict(features), trees.predict(features))


def test_nothing_learned_is_a_constant() -> None:
    model = BoostedTrees(6)
    features, _ = data(20, 4)
    model.fit(features, np.full(20, 7.0))
    trees = Trees.from_json(json.loads(json.dumps(model.trees().to_json())))
    np.testing.assert_array_equal(trees.predict(features), np.full(20, 7.0))


def test_no_rows() -> None:
    model = BoostedTrees(6, growth=Growth(rounds=3))
    model.fit(*data(50, 5))
    assert model.trees().predict(np.empty((0, 6))).shape == (0,)
    assert model.predict(np.empty((0, 6))).means.shape == (0,)


def test_no_trees_and_trees_without_splits() -> None:
    features, _ = data(3, 6)
    none = Trees.of([], 2.0)
    np.testing.assert_array_equal(none.predict(features), [2.0] * 3)
    np.testing.assert_array_equal(none.margins(features, 0.5), [0.5] * 3)
    leaf = {
        "left_children": [-1],
        "right_children": [-1],
        "split_indices": [0],
        "split_conditions": [0.25],
        "default_left": [0],
    }
    np.testing.assert_array_equal(Trees.of([leaf, leaf], 2.0).predict(features), [2.5] * 3)


def test_numbers_that_float32_does_not_have() -> None:
    theirs, ours = grown(3, 0.0)
    features = np.array([[1e300] * 6, [-1e300] * 6])
    expected = theirs.inplace_predict(features, predict_type="margin")
    np.testing.assert_array_equal(ours.margins(features, 0.0), expected)
