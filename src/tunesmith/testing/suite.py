"""What all parts of the tuners' conformance suite share: the tuner, its flags, a run of it."""

from __future__ import annotations

from typing import ClassVar

from tunesmith.space import Config, Space
from tunesmith.testing.trials import distance_cost, drive, measured
from tunesmith.tuners import Search, Tuner, View


class TunerSuite:
    """The flags, which a subclass sets where its algorithm differs."""

    tuner: ClassVar[Tuner]
    #: It proposes every config of a space before it ends.
    complete: ClassVar[bool] = True
    #: Another seed gives other proposals.
    stochastic: ClassVar[bool] = True
    #: It finds better configs than random search on a smooth problem, within ``learning_trials``.
    learns: ClassVar[bool] = False
    learning_trials: ClassVar[int] = 400
    #: Trials of an ordinary run; more than a generation, a batch or what else the tuner has.
    trials: ClassVar[int] = 240

    def start(self, space: Space, seed: int = 0) -> Search:
        """A search by the tuner under test."""
        return self.tuner.start_on(View(space), seed)

    def run(self, space: Space, seed: int = 0) -> list[Config]:
        """The proposals of an ordinary run."""
        cost = distance_cost(space)
        return drive(self.start(space, seed), self.trials, lambda c: measured(c, cost(c)))
