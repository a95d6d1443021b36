"""Parallel simulated annealing on a model ("Learning to Optimize Tensor Programs", section 3.3).

The paper gives neither temperatures nor moves; these are AutoTVM's: a move gives one random
parameter a random value, the temperature falls linearly to 0, by default from 1, and chains stop
when the best configs on their way no longer change. Scores are in units of their deviation, so that
temperatures mean the same for every model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.features.config_rows import ConfigRows, Keys, Rows
from tunesmith.space import Config

Array = npt.NDArray[np.float64]
Score = Callable[[Rows], Array]

# Added to temperatures, as the last one is 0.
_COLDEST = 1e-5

# The chains stop after this many steps that find nothing for the best.
_VAIN_STEPS = 50


class Chains:
    """``count`` chains that move all at a time. They begin at ``configs``, of which there is at
    least one, and keep their states from one ``run`` to the next."""

    def __init__(
        self, rows: ConfigRows, configs: Sequence[Config], count: int, rng: np.random.Generator
    ) -> None:
        self._rows = rows
        self._rng = rng
        starts = rows.of(configs)
        self.states: Rows = starts[np.arange(count) % len(starts)]

    def run(
        self, score: Score, steps: int, keep: int, known: Keys, *, hottest: float = 1.0
    ) -> Best:
        """Move at most ``steps`` times, and return the ``keep`` best configs on the way.

        Configs with ``known`` keys are passed through, but not returned. The first temperature is
        ``hottest``: chains that go on soon, from where they are, need not forget it.
        """
        best = Best(self._rows, keep, known)
        states, scores = self.states, score(self.states)
        best.offer(states, scores)
        last_news = 0
        for step in range(steps):
            moved = self._rows.moved(states, self._rng)
            allowed = np.flatnonzero(self._rows.valid(moved))
            moved = moved[allowed]
            found = score(moved)
            if best.offer(moved, found):
                last_news = step
            elif step - last_news >= _VAIN_STEPS:
                break
            temperature = hottest * (1.0 - step / steps) + _COLDEST
            chance = np.exp(np.minimum((found - scores[allowed]) / temperature, 0.0))
            accepted = self._rng.random(len(allowed)) < chance
            changed = allowed[accepted]
            states[changed], scores[changed] = moved[accepted], found[accepted]
        return best


class Best:
    """The best ``keep`` distinct rows of those offered, without those of ``known`` keys.

    ``rows`` have shape (kept, parameters), ``scores`` (kept,), best first.
    """

    def __init__(self, rows: ConfigRows, keep: int, known: Keys) -> None:
        self._of = rows
        self._keep = keep
        self._given = known
        self._known = np.sort(known)  # with those that are kept
        self.rows: Rows = np.empty((0, len(rows.space.parameters)), dtype=np.int64)
        self.scores: Array = np.empty(0)
        self._keys: Keys = np.empty(0, dtype=np.uint64)

    def offer(self, rows: Rows, scores: Array) -> bool:
        """Whether any of these is among the best now, and was not before."""
        if len(self.scores) == self._keep:
            better = scores > self.scores[-1]
            rows, scores = rows[better], scores[better]
        keys = self._of.keys(rows)
        new = ~_within(keys, self._known)
        if not new.any():
            return False
        all_keys, first = np.unique(np.concatenate([self._keys, keys[new]]), return_index=True)
        all_scores = np.concatenate([self.scores, scores[new]])[first]
        order = np.argsort(-all_scores, kind="stable")[: self._keep]
        chosen = first[order]
        self._keys, self.scores = all_keys[order], all_scores[order]
        self._known = np.sort(np.concatenate([self._given, self._keys]))
        self.rows = np.concatenate([self.rows, rows[new]])[chosen]
        return True


def _within(keys: Keys, known: Keys) -> npt.NDArray[np.bool_]:
    """Which keys are among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: npt.NDArray[np.bool_] = known[places] == keys
    return found
