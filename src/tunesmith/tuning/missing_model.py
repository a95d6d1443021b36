"""What a run does where its tuner's cost model cannot be had."""

from __future__ import annotations

import logging
from typing import Protocol, runtime_checkable

from tunesmith.errors import MissingDependencyError
from tunesmith.models import CostModel
from tunesmith.tuners import Tuner
from tunesmith.tuners.random import Random

_LOGGER = logging.getLogger("tunesmith")


@runtime_checkable
class HasCostModel(Protocol):
    """A tuner with a cost model of the user's choice, such as ``autotvm``."""

    def made_model(self, features: int) -> CostModel:
        """A new model for so many features.

        Raises ``UsageError`` for an unknown one, ``MissingDependencyError`` if the package that it
        needs is not installed.
        """
        ...


def usable(tuner: Tuner) -> Tuner:
    """The tuner, or random search, and a line, where the package of its cost model is missing.

    A run goes on without the model, and says so. A comparison of tuners refuses, as its line would
    be another tuner's. Raises ``UsageError`` for a cost model that does not exist.
    """
    if not isinstance(tuner, HasCostModel):
        return tuner
    try:
        tuner.made_model(1)
    except MissingDependencyError as error:
        _LOGGER.warning(
            "tunesmith: tuner '%s': %s; the search goes on without the model: after good starts, "
            "configs are random",
            tuner.name,
            error,
        )
        return Random()
    return tuner
