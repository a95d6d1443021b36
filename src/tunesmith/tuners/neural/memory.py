"""N-A2C's replay memory."""

from __future__ import annotations

import numpy as np

from tunesmith.features.moves import Moves, Numbers
from tunesmith.features.vectors import Ints, Reals


class Memory:
    """M: transitions (s, a, r, s') to the latest measured states s', from all s by all a with
    step(s, a) = s' ("Compiler-Level Matrix Multiplication Optimization for Deep Learning",
    algorithm 2, where it stores to M).

    These are more than the steps that walks took. As r depends only on s' (equation 8), only the
    measured states are kept, the latest ``size`` of them.
    """

    def __init__(self, size: int, moves: Moves) -> None:
        self._moves = moves
        self._states = np.zeros((size, len(moves.vectors.sizes)), dtype=np.int32)
        self._speeds = np.zeros(size)
        self._stored = 0

    def __len__(self) -> int:
        return min(self._stored, len(self._speeds))

    def add(self, state: Ints, speed: float) -> None:
        """Add a state and its throughput; if M is full, it replaces the oldest state."""
        place = self._stored % len(self._speeds)
        self._states[place], self._speeds[place] = state, speed
        self._stored += 1

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Numbers, Reals, Ints]:
        """``count`` random transitions: states, actions, throughputs of the next states, and these.

        Shapes (count, elements), (count,), (count,), (count, elements). Each is drawn by a measured
        state, then by one of the states from which a single action leads there.
        """
        places = rng.integers(len(self), size=count)
        after = self._states[places]
        possible = self._moves.possible(after)
        away = (possible * rng.random(possible.shape)).argmax(axis=1)
        before = self._moves.step(after, away)
        return before, self._moves.back(after, away), self._speeds[places], after
