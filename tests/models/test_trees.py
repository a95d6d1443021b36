"""Trees in NumPy: the same numbers as XGBoost's, with missing values, and after a file."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.models.boosted_trees import BoostedTrees, Growth
from tunesmith.models.trees import Trees

pytest.importorskip("xgboost", reason="XGBoost is not installed")

Array = npt.NDArray[np.float64]


def data(count: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 6))
    features[rng.random(features.shape) < 0.2] = np.nan
    known = np.nan_to_num(features)
    return features, known[:, 0] ** 2 + 3.0 * known[:, 1] * known[:, 2] + 40.0


@pytest.mark.parametrize("objective", ["rank", "regression"])
@pytest.mark.parametrize("depth", [1, 3, 6])
def test_they_predict_what_xgboost_predicts(objective: str, depth: int) -> None:
    model = BoostedTrees(6, objective=objective, growth=Growth(rounds=30, depth=depth))  # type: ignore[arg-type]
    model.fit(*data(300, 0))
    features, _ = data(700, 1)
    expected = model.predict(features).means
    trees = model.trees()
    np.testing.assert_allclose(trees.predict(features), expected, rtol=1e-4, atol=1e-4)
    assert trees.depth == depth
    assert np.ptp(expected) > 0.1


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
