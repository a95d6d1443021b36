"""Cost models by name, and one from outside the package."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest

from tests.plug_ins import offer
from tunesmith.errors import UsageError
from tunesmith.models import CostModel, Prediction, cost_model
from tunesmith.models.registry import MODELS
from tunesmith.testing.cost_model import CostModelConformance

Array = npt.NDArray[np.float64]


class RidgeRegression:
    """A model from outside the package: linear, regularised, without uncertainty."""

    def __init__(self, features: int) -> None:
        self._weights: Array = np.zeros(features)
        self._centre: Array = np.zeros(features)
        self._mean = 0.0

    def fit(self, features: Array, values: Array) -> None:
        self._centre, self._mean = features.mean(axis=0), float(values.mean())
        centred = features - self._centre
        matrix = centred.T @ centred + 1e-3 * np.eye(features.shape[1])
        solved = np.linalg.solve(matrix, centred.T @ (values - self._mean))
        self._weights = np.asarray(solved, dtype=np.float64)

    def predict(self, features: Array) -> Prediction:
        products = (features - self._centre) * self._weights
        return Prediction(self._mean + products.sum(axis=1), None)


class TestRidgeRegression(CostModelConformance):
    def make_model(self, features: int) -> CostModel:
        return RidgeRegression(features)


@pytest.mark.parametrize("name", ["boosted-trees", "gaussian-process", "knn"])
def test_ours_are_known_by_name(name: str) -> None:
    model = cost_model(name, 3)
    points = np.repeat(np.eye(3), 10, axis=0)
    model.fit(points, np.repeat([1.0, 2.0, 3.0], 10))
    assert model.predict(np.eye(3)).means.argmax() == 2


def test_a_package_brings_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"ridge": f"{__name__}:RidgeRegression", "no": f"{__name__}:Array"}
    offer(monkeypatch, "tunesmith.models", places)
    assert MODELS.names() == ("boosted-trees", "gaussian-process", "knn", "tree-gru", "no", "ridge")
    assert isinstance(cost_model("ridge", 2), RidgeRegression)
    with pytest.raises(UsageError, match="is no cost model: make it a class with fit and predict"):
        cost_model("no", 2)


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError, match=r"unknown cost model 'knnn': did you mean knn\?"):
        cost_model("knnn", 2)


def test_a_model_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys\n"
        "from tunesmith.models import cost_model\n"
        "from tunesmith.models.registry import MODELS\n"
        "MODELS.names()\n"
        "print('tunesmith.models.scaled_process' in sys.modules)\n"
        "print(type(cost_model('gaussian-process', 1)).__name__)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["False", "ScaledProcess"]
