"""N-A2C's replay memory."""

from __future__ import annotations

import numpy as np

from tunesmith.features.moves import Moves, Numbers
from tunesmith.features.vectors import Ints, Reals


class Memory:
    """M: transitions (s, a, r, s') between measured states ("Compiler-Level Matrix Multiplication
    Optimization for Deep Learning", algorithm 2, where it stores to M).

    As r depends only on s' (equation 8), only states are kept, the latest ``size`` of them, and
    which actions lead from one to another.
    """

    def __init__(self, size: int, moves: Moves) -> None:
        self._moves = moves
        self._states = np.zeros((size, len(moves.vectors.sizes)), dtype=np.int32)
        self._speeds = np.zeros(size)
        self._stored = 0
        self._places: dict[bytes, int] = {}
        # By place of the state before, the actions and the places of the states after.
        self._onward: list[dict[int, int]] = [{} for _ in range(size)]
        self._listed: Numbers | None = None  # all of these, as rows, until there are others

    def __len__(self) -> int:
        return min(self._stored, len(self._speeds))

    def add(self, state: Ints, speed: float) -> None:
        """Add a state and its throughput; if M is full, it replaces the oldest state."""
        self._listed = None
        place = self._stored % len(self._speeds)
        if self._stored >= len(self._speeds):
            self._forget(place)
        self._states[place], self._speeds[place] = state, speed
        self._stored += 1
        self._places[self._states[place].tobytes()] = place
        actions = np.flatnonzero(self._moves.possible(state[None])[0])
        same = np.repeat(state[None], len(actions), axis=0)
        around, back = self._moves.step(same, actions), self._moves.back(same, actions)
        for action, reverse, near in zip(actions.tolist(), back.tolist(), around, strict=True):
            other = self._places.get(near.tobytes())
            if other is not None:
                self._onward[place][action] = other
                self._onward[other][reverse] = place

    def _forget(self, place: int) -> None:
        del self._places[self._states[place].tobytes()]
        for other in set(self._onward[place].values()):
            known = self._onward[other]
            self._onward[other] = {action: end for action, end in known.items() if end != place}
        self._onward[place] = {}

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Numbers, Reals, Ints]:
        """``count`` random transitions: states, actions, throughputs of the next states, and these.

        Shapes (count, elements), (count,), (count,), (count, elements); empty while no action leads
        from a state to another.
        """
        table = self._transitions()
        drawn = table[rng.integers(len(table), size=count)] if len(table) else table
        before, actions, after = drawn.T
        return self._states[before], actions, self._speeds[after], self._states[after]

    def _transitions(self) -> Numbers:
        """The places before, the actions and the places after, shape (transitions, 3)."""
        if self._listed is None:
            rows = [
                (before, action, after)
                for before, onward in enumerate(self._onward)
                for action, after in onward.items()
            ]
            self._listed = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return self._listed
