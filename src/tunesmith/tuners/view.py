"""A tuner's view of a problem: its space, and what is known of configs without a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tunesmith.features import Coordinates
from tunesmith.space import Config, Space

Array = npt.NDArray[np.float64]

OfConfigs = Callable[[Sequence[Config]], Array | None]
"""An array with one entry per config along the first axis; None if nothing is known."""


class View:
    """A problem's space, with its functions for estimates and features if it has them."""

    def __init__(
        self, space: Space, estimates: OfConfigs | None = None, features: OfConfigs | None = None
    ) -> None:
        self.space = space
        self._estimates = estimates
        self._features = features

    def estimates(self, configs: Sequence[Config]) -> Array | None:
        """Estimated seconds of a call by a model of the machine, shape (configs,).

        NaN for configs without an estimate; None if there is no model.
        """
        return None if self._estimates is None else self._estimates(configs)

    def features(self, configs: Sequence[Config]) -> Array:
        """Features for a cost model, shape (configs, features).

        The features of the programs if the problem has them, else the configs' ``Coordinates``.
        """
        known = None if self._features is None else self._features(configs)
        return self._coordinates.of_all(configs) if known is None else known

    @cached_property
    def _coordinates(self) -> Coordinates:
        return Coordinates(self.space)
