"""Cost models by name: ours, and those that other packages bring."""

from __future__ import annotations

from typing import Protocol

from tunesmith.models.cost_model import CostModel
from tunesmith.registry import Registry

_OURS = {
    "gaussian-process": "tunesmith.models.gaussian_process:GaussianProcess",
    "knn": "tunesmith.models.knn:KnnRegressor",
}


class MakeModel(Protocol):
    """Makes an empty model of so many features: the class of a model."""

    def __call__(self, features: int) -> CostModel: ...


def _class(found: object) -> MakeModel | None:
    fits = isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "predict")
    return found if fits else None  # type: ignore[return-value] # what it is made with shows later


MODELS = Registry(
    "cost model", "models", _OURS, _class, "a class with fit and predict", listed=False
)


def cost_model(name: str, features: int) -> CostModel:
    """A new model of that name for so many features.

    Raises ``UsageError`` for an unknown name, and ``MissingDependencyError`` for a model whose
    package cannot be imported.
    """
    return MODELS.get(name)(features)
