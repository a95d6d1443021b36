"""How the time of ``tunesmith bench gpu`` is shared out: what a part leaves, the others have; and
how long a round of a comparison is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Clock = Callable[[], float]

# A round has no more calls than these, however short they are.
_MOST_CALLS = 10_000


class Deadline:
    """So many seconds from when this is made."""

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds to go, 0 when the time is up."""
        return max(0.0, self._end - self._clock())

    def share(self, count: int) -> float:
        """An equal share of what is left, for one of so many that are still to come."""
        return self.left / max(1, count)


class TimePlan:
    """The parts of a whole in their order, each with its weight.

    A part has what is left of the whole by its weight among the parts that are still to come.
    """

    def __init__(
        self, seconds: float, weights: Mapping[str, float], clock: Clock = time.monotonic
    ) -> None:
        self._clock = clock
        self._begun = clock()
        self._whole = Deadline(seconds, clock)
        self._weights = dict(weights)

    def begin(self, part: str) -> Deadline:
        """The deadline of the next part."""
        to_come = sum(self._weights.values())
        share = self._weights.pop(part) / to_come
        return Deadline(self._whole.left * share, self._clock)

    @property
    def spent(self) -> float:
        """Seconds since this was made."""
        return self._clock() - self._begun


def calls_of(duration: float, once: float) -> int:
    """How many calls of ``once`` seconds fill a round of ``duration`` seconds."""
    return max(1, min(_MOST_CALLS, round(duration / max(once, 1e-9))))
