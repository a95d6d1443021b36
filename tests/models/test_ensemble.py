"""Bootstrap ensembles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tunesmith.models import CostModel, Prediction
from tunesmith.models.ensemble import BootstrapEnsemble
from tunesmith.models.knn import KnnRegressor
from tunesmith.testing.cost_model import CostModelConformance

Array = npt.NDArray[np.float64]


class TestBootstrapEnsemble(CostModelConformance):
    def make_model(self, features: int) -> CostModel:
        return BootstrapEnsemble(lambda: KnnRegressor(features))


class Mean:
    """Predicts the mean of what it learned, and remembers that."""

    def __init__(self) -> None:
        self.learned: Array = np.empty(0)

    def fit(self, features: Array, values: Array) -> None:
        assert (features[:, 0] == values).all(), "points were given others' values"
        self.learned = values.copy()

    def predict(self, features: Array) -> Prediction:
        return Prediction(np.full(len(features), self.learned.mean()), None)


def test_each_member_learns_from_a_sample_with_replacement() -> None:
    members: list[Mean] = []

    def make() -> Mean:
        members.append(Mean())
        return members[-1]

    values = np.arange(100.0)
    model = BootstrapEnsemble(make, members=5)
    model.fit(values[:, None], values)
    assert len(members) == 5
    distinct = [len(np.unique(member.learned)) for member in members]
    assert all(len(member.learned) == 100 for member in members)
    assert all(50 <= count <= 75 for count in distinct), distinct  # 63 are expected
    assert len({tuple(member.learned) for member in members}) == 5
    means, deviations = model.predict(np.zeros((2, 1)))
    of_members = [member.learned.mean() for member in members]
    assert deviations is not None
    np.testing.assert_allclose(means, np.mean(of_members))
    np.testing.assert_allclose(deviations, np.std(of_members))
