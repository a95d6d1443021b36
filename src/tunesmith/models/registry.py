"""The registry of cost models: built-in ones and plug-ins."""

from __future__ import annotations

from typing import Any, Protocol

from tunesmith.errors import UsageError, unknown_name
from tunesmith.models.cost_model import CostModel
from tunesmith.registry import Registry

_OURS = {
    "boosted-trees": "tunesmith.models.boosted_trees:BoostedTrees",
    "gaussian-process": "tunesmith.models.scaled_process:ScaledProcess",
    "knn": "tunesmith.models.knn:KnnRegressor",
    "tree-gru": "tunesmith.models.tree_gru:TreeGRU",
}


class MakeModel(Protocol):
    """The class of a model: makes one for a number of features.

    A model that may learn different objectives lists them in ``objectives``, and takes one as its
    argument ``objective``. One that reads a program loop by loop has ``reads_loops = True``, and
    takes as its argument ``loops`` how many of them the features are of. One that may compute on a
    GPU lists its ``devices``, and takes one, or None, as its argument ``device``.
    """

    def __call__(self, features: int, **options: Any) -> CostModel:
        """A model for points of so many features. Raises ``MissingDependencyError`` if the package
        that it needs is not installed."""
        ...


def _model_class(found: object) -> MakeModel | None:
    fits = isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "predict")
    return found if fits else None  # type: ignore[return-value] # its constructor is not checked


MODELS = Registry(
    "cost model", "models", _OURS, _model_class, "a class with fit and predict", listed=False
)


def objectives_of(name: str) -> tuple[str, ...]:
    """What a model may learn; none if it has no choice.

    Raises ``UsageError`` for an unknown model.
    """
    return tuple(getattr(MODELS.get(name), "objectives", ()))


def cost_model(
    name: str,
    features: int,
    objective: str | None = None,
    *,
    loops: int = 1,
    device: str | None = None,
) -> CostModel:
    """A new model with this name, for a number of features, by default with its own objective.

    The features are those of so many ``loops``, one after the other, if there is more than one. A
    model that may compute on a GPU does so on the ``device``, by default its own choice.
    Raises ``UsageError`` for an unknown name and for an objective or device that the model does not
    have, and ``MissingDependencyError`` if its package cannot be imported.
    """
    make = MODELS.get(name)
    options: dict[str, Any] = {"loops": loops} if getattr(make, "reads_loops", False) else {}
    devices = tuple(getattr(make, "devices", ("cpu",)))
    if device is not None and device not in devices:
        raise unknown_name(f"device of {name}", device, devices)
    if len(devices) > 1:
        options["device"] = device
    if objective is None:
        return make(features, **options)
    known = objectives_of(name)
    if not known:
        raise UsageError(f"cost model '{name}' has no choice of objectives: leave it out")
    if objective not in known:
        raise unknown_name(f"objective of {name}", objective, known)
    return make(features, objective=objective, **options)
