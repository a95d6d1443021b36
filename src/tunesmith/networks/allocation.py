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
# After so many slices without a valid trial a task waits until no other one is open.
_ATTEMPTS = 3


@dataclass
class Account:
    """What tuning a task has cost and brought.

    ``seconds`` of tuning and ``trials`` were spent on it, in earlier runs too. ``weight`` is how
    often the network calls it. ``best`` is the least seconds of a call so far, infinite while there
    is none, and ``gained`` what the last slice took off it for each second of tuning. The last
    ``fruitless`` slices took nothing off.
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
        self.fruitless = 0 if self.best < before else self.fruitless + 1

    @property
    def is_tried(self) -> bool:
        """Whether it has no time yet, and comes before the tasks that have one."""
        return math.isinf(self.best) and self.fruitless < _ATTEMPTS and not self.closed

    @property
    def expected_gain(self) -> float:
        """Seconds of a network's call that a second of tuning is expected to take off.

        The larger one of two guesses: the last slice's gain goes on, weaker; and the task improves
        by a share of its time if it is tuned for as long again. Infinite for a task that has no
        time yet, 0 for one that has none after several slices and for a closed one: its space is
        exhausted.
        """
        if self.closed:
            return 0.0
        if math.isinf(self.best):
            return math.inf if self.is_tried else 0.0
        hoped = _HOPE * self.best / self.seconds * 0.5**self.fruitless
        return self.weight * max(_LASTING * self.gained, hoped)


def next_task(accounts: Sequence[Account]) -> int | None:
    """The number of the task that the next seconds bring most to; None if none is open.

    Tasks without a time come first: those with the fewest slices, in the given order. One that has
    no time after several slices comes last.
    """
    is_open = [number for number, account in enumerate(accounts) if not account.closed]
    if not is_open:
        return None
    return max(
        is_open, key=lambda number: (accounts[number].expected_gain, -accounts[number].fruitless)
    )
