"""A tuner's view of a problem: its space, and what is known of configs without a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError
from tunesmith.features import Coordinates
from tunesmith.features.kinds import FeatureKind
from tunesmith.space import Config, Space

Array = npt.NDArray[np.float64]

OfConfigs = Callable[[Sequence[Config]], Array | None]
"""An array with one entry per config along the first axis; None if nothing is known."""


FeaturesOfConfigs = Callable[[Sequence[Config], str], Array | None]
"""The features of a ``FeatureKind``, one row per config; None if the problem has none of it."""


class View:
    """A problem's space, with its functions for estimates and features if it has them.

    ``transferred`` is what a model of other tasks says of configs: see ``transferred``.
    """

    def __init__(
        self,
        space: Space,
        estimates: OfConfigs | None = None,
        features: FeaturesOfConfigs | None = None,
        transferred: OfConfigs | None = None,
    ) -> None:
        self.space = space
        self._estimates = estimates
        self._features = features
        self._transferred = transferred

    def estimates(self, configs: Sequence[Config]) -> Array | None:
        """Estimated seconds of a call by a model of the machine, shape (configs,).

        Infinite for what cannot run, NaN for configs without an estimate; None if there is no
        model.
        """
        return None if self._estimates is None else self._estimates(configs)

    @property
    def has_estimates(self) -> bool:
        """Whether there is a model of the machine."""
        return self.estimates([]) is not None

    @property
    def has_transferred(self) -> bool:
        """Whether there is a model of other tasks."""
        return self._transferred is not None

    def transferred(self, configs: Sequence[Config]) -> Array | None:
        """Logarithms to base 2 of calls a second by a model of other tasks, shape (configs,), but
        for a constant; -infinity for what cannot run. None if there is no model."""
        return None if self._transferred is None else self._transferred(configs)

    def features(self, configs: Sequence[Config], kind: FeatureKind = "configuration") -> Array:
        """Features for a cost model, shape (configs, features).

        Those of programs take milliseconds per config, as the programs are made; configs that
        cannot be scheduled have NaN. ``configuration`` means the configs' ``Coordinates``, unless
        the problem has something better. Raises ``UsageError`` for another kind than
        ``configuration`` if the problem has no programs.
        """
        known = None if self._features is None else self._features(configs, kind)
        if known is not None:
            return known
        if kind != "configuration":
            raise UsageError(
                f"there are no {kind} features: the problem has no programs; use configuration"
            )
        return self._coordinates.of_all(configs)

    @cached_property
    def _coordinates(self) -> Coordinates:
        return Coordinates(self.space)
