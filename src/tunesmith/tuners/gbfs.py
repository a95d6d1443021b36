"""G-BFS: a greedy best-first search over the graph of configs.

"Compiler-Level Matrix Multiplication Optimization for Deep Learning", algorithm 1, for all kinds of
parameters: two configs are neighbours if they differ in one parameter, by adjacent values (equation
6 for factorizations of a power of 2). ρ = 5, as in its section 4. Differences from the paper:

- Nothing waits. A state is queued when its measurement arrives; if more configs are requested, the
  search expands the next best state in the queue.
- When the queue is empty, the paper stops. This search continues from a random new config, so it
  eventually proposes the whole space.
- It samples from valid neighbours only; the paper samples from all actions and drops invalid ones.
- A failed state is not expanded. The paper does not define its cost.
- Where something works before the first proposal, of earlier records or good starts, the search
  begins at the best of that.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import ClassVar, Literal

from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.tuners.tuner import Search, Tuner, fitness, option
from tunesmith.tuners.untiled import start_of


@dataclass(frozen=True)
class GBFS(Tuner):
    """Greedy best-first search: samples the neighbours of the best config not expanded yet."""

    name: ClassVar[str] = "gbfs"

    neighbours: int | None = option(5, "neighbours sampled of each config (ρ); none: all of them")
    start_at: Literal["untiled", "random"] = option(
        "untiled", "the first config: each loop in one piece and all else at its first value"
    )

    def check(self) -> None:
        self.require(
            self.neighbours is None or self.neighbours >= 1,
            f"neighbours must be 1 or more, or none for all, not {self.neighbours}",
        )

    def start(self, space: Space, seed: int) -> GBFSSearch:
        return GBFSSearch(self, space, seed)


class GBFSSearch(Search):
    """A running search.

    Attributes:
        queue: a heap of the states to expand as (-fitness, order of arrival, state).
        sampled: neighbours of expanded states, still to be proposed.
        first: the first state, once it is proposed.
        first_is_open: whether it is proposed, but neither expanded nor measured.
    """

    def __init__(self, settings: GBFS, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.queue: list[tuple[float, int, Config]] = []
        self.sampled: deque[Config] = deque()
        self.first: Config | None = None
        self.first_is_open = False
        self._has_begun = False

    def next_config(self) -> Config | None:
        if not self._has_begun:
            self._has_begun = True
            # Where something works already, it goes on from that.
            self.first = None if self.queue else self._first_state()
            self.first_is_open = self.first is not None and self.first not in self._observed
            if self.first is not None and self.first not in self.seen:
                return self.first
        while self.sampled or self._expand_next():
            while self.sampled:
                config = self.sampled.popleft()
                if config not in self.seen:
                    return config
        return self.fresh_config()

    def learn(self, measurement: Measurement) -> None:
        state, value = measurement.config, fitness(measurement)
        if state == self.first:
            if not self.first_is_open:
                return  # it was expanded before its measurement arrived
            self.first_is_open = False
        if value > 0.0:
            heapq.heappush(self.queue, (-value, len(self._observed), state))

    def _expand_next(self) -> bool:
        """Sample the neighbours of the best queued state; False if there is none.

        The first state need not be measured: it is the only candidate, whatever its cost.
        """
        if self.queue:
            self._expand(heapq.heappop(self.queue)[-1])
            return True
        if self.first is not None and self.first_is_open:
            self.first_is_open = False
            self._expand(self.first)
            return True
        return False

    def _expand(self, state: Config) -> None:
        around = self.space.neighbours(state)
        count = self.settings.neighbours
        if count is not None:
            around = [around[place] for place in self.rng.permutation(len(around))[:count]]
        self.sampled.extend(around)

    def _first_state(self) -> Config | None:
        settings = self.settings
        state = start_of(settings.name, self.space) if settings.start_at == "untiled" else None
        return self.fresh_config() if state is None else state
