"""The part of a search since it last began anew."""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass


@dataclass
class Region:
    """Where a search refines: the observations of what was proposed since it began, when ``seen``
    configs had been proposed. Regions have a ``number``, from 0 on. ``valid`` of the observations
    worked; the last ``fruitless`` that the search had proposed were not better than what the region
    had."""

    number: int = 0
    seen: int = 0
    valid: int = 0
    fruitless: int = 0
    _best: float = math.inf

    def count(self, log: float, *, own: bool = True) -> None:
        """Take in an observation: the logarithm of its seconds, infinite for a failure.

        Those that are not the search's ``own``, as the records of other runs, use up no patience:
        how often one failed to find better near the best of them is not known.
        """
        self.valid += log < math.inf
        better = log < self._best
        self.fruitless = 0 if better else self.fruitless + own
        self._best = min(self._best, log)

    def next(self, seen: Sized) -> Region:
        """The one that begins after this."""
        return Region(self.number + 1, len(seen))

    def proposed(self, seen: Sized) -> int:
        """How many configs were proposed in it."""
        return len(seen) - self.seen
