"""What an estimate is made of: noted while it is computed, for models that learn where it errs.

Estimates are functions of their own in each sketch, and all of them add up the figures of a machine
by the same few methods. These note what they are asked, while somebody wants to know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

PARTS = ("computing", "moving", "l2", "l3", "memory", "imbalance", "regions")
"""The names of what ``Parts.numbers`` has."""


@dataclass
class Parts:
    """The parts of an estimate.

    ``computing`` and ``moving`` are cycles, or on a GPU nanoseconds, of work that overlaps;
    ``bytes`` are those that come from L2, from L3 and from memory, as far as the estimate counts
    them. ``imbalance`` is how many times as much as the mean the busiest core does, and ``regions``
    the number of parallel loops.
    """

    computing: float = 0.0
    moving: float = 0.0
    bytes: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    imbalance: float = 1.0
    regions: float = 0.0

    def numbers(self) -> tuple[float, ...]:
        """A number for each of ``PARTS``: the logarithms to base 2 of 1 + the cycles that compute
        and that move data, and of 1 + the bytes from each level; that of the imbalance; and the
        regions. Infinite amounts count as 0. Those of CPUs and GPUs do not compare.
        """
        amounts = (self.computing, self.moving, *self.bytes)
        return (
            *(math.log2(1.0 + amount) if amount < math.inf else 0.0 for amount in amounts),
            math.log2(self.imbalance),
            self.regions,
        )


_noted: ContextVar[Parts | None] = ContextVar("parts", default=None)


@contextmanager
def noting() -> Iterator[Parts]:
    """Within its context, the parts of the estimate that is computed."""
    parts = Parts()
    token = _noted.set(parts)
    try:
        yield parts
    finally:
        _noted.reset(token)


def noted() -> Parts | None:
    """The parts to note something in; None where nobody wants to know."""
    return _noted.get()
