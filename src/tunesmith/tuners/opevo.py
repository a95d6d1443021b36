"""OpEvo: evolution by a mutation that knows which values are alike.

"OpEvo: An Evolutionary Method for Tensor Operator Optimization", algorithm 1. Its experiments use
λ = 8 parents, ρ = 8 children and q = 0.5. The population is every config measured so far. Where we
depart from the paper:

- Nothing waits. Parents are selected from what has been measured when a generation begins, and as
  long as fewer than λ have been, further configs are random. With measurements that keep up, this
  is the paper's algorithm.
- Where no parent has a fitness above 0, equation 2 has no value: the next config is random.
- The paper has no constraints that are known beforehand, only failures. Here the parameters that
  constraints tie together are drawn again, when they are recombined and when they walk, until they
  meet them; where that fails, they are those of one parent, or stay where they were.
- A child that is not new is mutated further, as in section 4.4, but not for ever: a random config
  takes its place where nothing new can be reached.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tunesmith.features.ties import Tie, ties_of
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space, Value
from tunesmith.tuners.breeding import Individual
from tunesmith.tuners.tuner import Search, Tuner, fitness, option

# Draws of parameters that constraints tie together, until they meet them.
_DRAWS = 20

# Mutations of a child until it is new.
_MUTATIONS = 16


@dataclass(frozen=True)
class OpEvo(Tuner):
    """OpEvo: the best configs so far recombined, and mutated by q-random walks."""

    name: ClassVar[str] = "opevo"

    parents: int = option(8, "the best configs so far that children are made of (λ)")
    children: int = option(8, "configs made before the parents are selected anew (ρ)")
    q: float = option(0.5, "probability that a random walk goes on: more explores further")

    def check(self) -> None:
        self.require(self.parents >= 1, f"parents must be 1 or more, not {self.parents}")
        self.require(self.children >= 1, f"children must be 1 or more, not {self.children}")
        self.require(0.0 < self.q < 1.0, f"q must be above 0 and below 1, not {self.q}")

    def start(self, space: Space, seed: int) -> OpEvoSearch:
        return OpEvoSearch(self, space, seed)


class OpEvoSearch(Search):
    """A running evolution.

    Attributes:
        best: the λ fittest individuals, best first; of equal ones, the earlier first.
        parents: those that the children of this generation are made of.
        due: children of this generation that are still to be made.
    """

    def __init__(self, settings: OpEvo, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.ties = ties_of(space)
        self.best: list[Individual] = []
        self.parents: tuple[Individual, ...] = ()
        self.due = 0

    def next_config(self) -> Config | None:
        if self.due == 0:
            self._select()
        if self.due == 0:
            return self.fresh_config()
        self.due -= 1
        child = self._breed()
        return self.fresh_config() if child is None else child

    def learn(self, measurement: Measurement) -> None:
        individual = Individual(measurement.config, fitness(measurement))
        insort(self.best, individual, key=lambda known: -known.fitness)
        del self.best[self.settings.parents :]

    def _select(self) -> None:
        """Begin a generation, if there are λ to select from, not all of them failures."""
        if len(self.best) == self.settings.parents and self.best[0].fitness > 0.0:
            self.parents = tuple(self.best)
            self.due = self.settings.children

    def _breed(self) -> Config | None:
        """A valid child that is new; None when mutating it again and again finds none."""
        child = recombine(self.parents, self.ties, self.rng)
        for _ in range(_MUTATIONS):
            child = mutate(child, self.ties, self.settings.q, self.rng)
            config = Config.from_values(child)
            if config not in self.seen:
                return config
        return None


def fitness_shares(parents: Sequence[Individual]) -> npt.NDArray[np.float64]:
    """The probability of each parent to be inherited from, shape (parents,): equation 2.

    At least one has to have a fitness above 0; one of fitness 0 is never inherited from.
    """
    values = np.array([parent.fitness for parent in parents])
    values /= values.max()  # or the sum may be too large for a float
    return np.asarray(values / values.sum())


def recombine(
    parents: Sequence[Individual], ties: Sequence[Tie], rng: np.random.Generator
) -> dict[str, Value]:
    """A valid child that has each parameter from a parent drawn for it alone (section 4.2)."""
    edges = np.cumsum(fitness_shares(parents))
    child = dict(parents[0].config)  # for its order: each value is about to be replaced
    for tie in ties:
        for _ in range(_DRAWS):
            drawn = np.searchsorted(edges, edges[-1] * rng.random(len(tie.parameters)), "right")
            for parameter, parent in zip(tie.parameters, drawn.tolist(), strict=True):
                child[parameter.name] = parents[parent].config[parameter.name]
            if tie.allows(child):
                break
        else:
            whole = parents[drawn[0]].config
            child.update((parameter.name, whole[parameter.name]) for parameter in tie.parameters)
    return child


def mutate(
    child: Mapping[str, Value], ties: Sequence[Tie], q: float, rng: np.random.Generator
) -> dict[str, Value]:
    """A valid mutant: each parameter where a walk from the child's value stops (section 4.3)."""
    mutant = dict(child)
    for tie in ties:
        for _ in range(_DRAWS):
            for parameter in tie.parameters:
                mutant[parameter.name] = parameter.random_walk(child[parameter.name], q, rng)
            if tie.allows(mutant):
                break
        else:
            mutant.update((parameter.name, child[parameter.name]) for parameter in tie.parameters)
    return mutant
