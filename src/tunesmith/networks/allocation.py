"""Which task of a network gets the next seconds of tuning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# The share of what a task's last slice gained that its next one is expected to gain.
_LASTING = 0.5
# What tuning for as long again is thought to gain at first, as a share of a task's time. It halves
# with each slice that gains nothing.
_HOPE = 0.2


@dataclass
class Account:
    """What tuning a task has cost and brought.

    ``seconds`` of tuning and ``trials`` were spent on it, in earlier runs too. ``weight`` is how
    often the network calls it. ``best`` is the least seconds of a call so far, infinite while there
    is none, and ``gained`` what the last slice took off it for each second of tuning.
    """

    weight: int
    seconds: float = 0.0
    trials: int = 0
    best: float = math.inf
    gained: float = 0.0
    fruitless: int = 0
    closed: bool = False

    def spend(self, seconds: float, trials: int, best: float) -> None:
        """A slice of tuning has taken ``seconds``, and ended with ``best`` after so many trials."""
        self.trials = trials
        before, self.best = self.best, min(self.best, best)
        self.seconds += seconds
        known = math.isfinite(before)
        self.gained = (before - self.best) / max(seconds, 1e-9) if known else 0.0
        self.fruitless = self.fruitless + 1 if known and self.best >= before else 0

    @property
    def expected_gain(self) -> float:
        """Seconds of a network's call that a second of tuning is expected to take off.

        The larger one of two guesses: the last slice's gain goes on, weaker; and the task improves
        by a share of its time if it is tuned for as long again. Infinite for a task that has no
        time yet, 0 for a closed one: its space is exhausted.
        """
        if self.closed:
            return 0.0
        if math.isinf(self.best) or self.seconds <= 0:
            return math.inf
        hoped = _HOPE * self.best / self.seconds * 0.5**self.fruitless
        return self.weight * max(_LASTING * self.gained, hoped)


def next_task(accounts: Sequence[Account]) -> int | None:
    """The number of the task that the next seconds bring most to; None if none is open.

    Tasks without a time come first, in the given order.
    """
    numbers = range(len(accounts))
    best = max(numbers, key=lambda number: accounts[number].expected_gain, default=None)
    return None if best is None or accounts[best].expected_gain <= 0 else best
