"""The configs that estimates like most, wherever they are in the space."""

from __future__ import annotations

from collections.abc import Container
from itertools import islice

import numpy as np

from tunesmith.features import Coordinates
from tunesmith.space import Config
from tunesmith.tuners.auto.neighbourhood import Choices
from tunesmith.tuners.starts import StartFinder
from tunesmith.tuners.view import View

# As many as a long search may try.
_KEPT = 600

_FINDER = StartFinder(samples=512)


class Favourites:
    """Found when they are first asked for: among random configs, and around the best of these.

    A model of what was observed corrects the estimates, but around what was observed alone: without
    these a search would stay there, however much better estimates think of another place.
    """

    def __init__(self, view: View, coordinates: Coordinates, rng: np.random.Generator) -> None:
        self._view = view
        self._coordinates = coordinates
        self._rng = rng
        self._found: Choices | None = None

    def new(self, count: int, seen: Container[Config]) -> Choices:
        """Up to ``count`` that are not among ``seen``; none where there are no estimates."""
        if self._found is None:
            self._found = Choices.of(self._looked_for(), self._coordinates)
        places = (i for i, config in enumerate(self._found.configs) if config not in seen)
        return self._found.some(list(islice(places, count)))

    def _looked_for(self) -> list[Config]:
        if not self._view.has_estimates:
            return []
        starts = _FINDER.estimated(self._view, int(self._rng.integers(1 << 32)))
        best = sorted(starts, key=lambda start: start.estimate)[:_KEPT]
        return [start.config for start in best]
