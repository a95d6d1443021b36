"""The registry of cost models: built-in ones and plug-ins."""

from __future__ import annotations

from typing import Protocol

from tunesmith.models.cost_model import CostModel
from tunesmith.registry import Registry

_OURS = {
    "gaussian-process": "tunesmith.models.gaussian_process:GaussianProcess",
    "knn": "tunesmith.models.knn:KnnRegressor",
}


class MakeModel(Protocol):
    """The class of a model: makes one for a number of features."""

    def __call__(self, features: int) -> CostModel: ...


def _model_class(found: object) -> MakeModel | None:
    fits = isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "predict")
    return found if fits else None  # type: ignore[return-value] # its constructor is not checked


MODELS = Registry(
    "cost model", "models", _OURS, _model_class, "a class with fit and predict", listed=False
)


def cost_model(name: str, features: int) -> CostModel:
    """A new model with this name, for a number of features.

    Raises ``UsageError`` for an unknown name, and ``MissingDependencyError`` if its package cannot
    be imported.
    """
    return MODELS.get(name)(features)
