"""What a tuner may look at: the space, and what is known of its configs without a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tunesmith.features import Coordinates
from tunesmith.space import Config, Space

Array = npt.NDArray[np.float64]

OfConfigs = Callable[[Sequence[Config]], Array | None]
"""Something of each of several configs, along the first axis; None where nothing is known."""


class View:
    """A problem as its tuner sees it.

    ``estimates`` and ``features`` are what the problem knows of configs, if it knows anything.
    """

    def __init__(
        self, space: Space, estimates: OfConfigs | None = None, features: OfConfigs | None = None
    ) -> None:
        self.space = space
        self._estimates = estimates
        self._features = features

    def estimates(self, configs: Sequence[Config]) -> Array | None:
        """About how many seconds a call takes by a model of the machine, shape (configs,).

        NaN for configs of which there is no idea; None where there is no model.
        """
        return None if self._estimates is None else self._estimates(configs)

    def features(self, configs: Sequence[Config]) -> Array:
        """Numbers to learn from, shape (configs, features).

        Those of the programs where the problem knows them, else the coordinates of the configs: see
        ``Coordinates``.
        """
        known = None if self._features is None else self._features(configs)
        return self._coordinates.of_all(configs) if known is None else known

    @cached_property
    def _coordinates(self) -> Coordinates:
        return Coordinates(self.space)
