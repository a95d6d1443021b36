"""N-A2C's memory of what was measured, which its networks learn from."""

from __future__ import annotations

import numpy as np

from tunesmith.features.moves import Moves, Numbers
from tunesmith.features.vectors import Ints, Reals


class Memory:
    """M: transitions (s, a, r, s') to the latest measured states s', from all s by all a for which
    step(s, a) = s' ("Compiler-Level Matrix Multiplication Optimization for Deep Learning",
    algorithm 2, where it stores to M).

    These are more than the steps that a walk took. As r depends on s' alone (equation 8), the
    measured states are what is kept, ``size`` of them.
    """

    def __init__(self, size: int, moves: Moves) -> None:
        self._moves = moves
        self._states = np.zeros((size, len(moves.vectors.sizes)), dtype=np.int32)
        self._speeds = np.zeros(size)
        self._stored = 0

    def __len__(self) -> int:
        return min(self._stored, len(self._speeds))

    def add(self, state: Ints, speed: float) -> None:
        """Take in a state's throughput; the oldest state gives way where M is full."""
        place = self._stored % len(self._speeds)
        self._states[place], self._speeds[place] = state, speed
        self._stored += 1

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Numbers, Reals, Ints]:
        """Some transitions: states, actions, throughputs of the next states, and those.

        A measured state is drawn, then one of the states from which a single action leads there.
        """
        places = rng.integers(len(self), size=count)
        after = self._states[places]
        possible = self._moves.possible(after)
        away = (possible * rng.random(possible.shape)).argmax(axis=1)
        before = self._moves.step(after, away)
        return before, self._moves.back(after, away), self._speeds[places], after
