"""OpEvo: evolution with a topology-aware mutation.

"OpEvo: An Evolutionary Method for Tensor Operator Optimization", algorithm 1. Its experiments use
λ = 8 parents, ρ = 8 children and q = 0.5. The population is every config measured so far.
Differences from the paper:

- Nothing waits. A generation selects its parents from what has been measured when it begins; while
  there are fewer than λ, further configs are random. If measurements arrive in time, this is the
  paper's algorithm.
- If no parent has a fitness above 0, equation 2 is undefined, and the next config is random.
- The paper has no constraints that are known in advance, only failures. Here the parameters of a
  tie are redrawn, both in recombination and in mutation, until they meet their constraints. If that
  fails, they come from one parent, or stay unchanged.
- A child that is not new is mutated further, as in section 4.4, but only a limited number of times:
  then a random config replaces it.
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

# The most draws of a tie's parameters until they meet its constraints.
_DRAWS = 20

# The most mutations of a child until it is new.
_MUTATIONS = 16


@dataclass(frozen=True)
class OpEvo(Tuner):
    """OpEvo: the best configs so far recombined, and mutated by q-random walks."""

    name: ClassVar[str] = "opevo"
    random_start_option: ClassVar[str | None] = "parents"

    parents: int = option(8, "the best configs so far that children are made of (λ)")
    children: int = option(8, "configs made before the parents are selected anew (ρ)")
    q: float = option(0.5, "probability that a random walk goes on: more explores further")

    def check(self) -> None:
        self.require_least(1, "parents", "children")
        self.require_share("q", above_0=True, below_1=True)

    def start(self, space: Space, seed: int) -> OpEvoSearch:
        return OpEvoSearch(self, space, seed)


class OpEvoSearch(Search):
    """A running evolution.

    Attributes:
        best: the λ fittest individuals, best first; equal ones in the order of arrival.
        parents: the parents of this generation.
        due: the number of children of this generation that are still to be proposed.
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
        """Begin a generation if there are λ individuals, and not all of them failures."""
        if len(self.best) == self.settings.parents and self.best[0].fitness > 0.0:
            self.parents = tuple(self.best)
            self.due = self.settings.children

    def _breed(self) -> Config | None:
        """A valid and new child; None if repeated mutation finds none."""
        child = recombine(self.parents, self.ties, self.rng)
        for _ in range(_MUTATIONS):
            child = mutate(child, self.ties, self.settings.q, self.rng)
            config = Config.from_values(child)
            if config not in self.seen:
                return config
        return None


def fitness_shares(parents: Sequence[Individual]) -> npt.NDArray[np.float64]:
    """The probability to inherit a value from each parent, shape (parents,): equation 2.

    At least one parent must have a fitness above 0.
    """
    values = np.array([parent.fitness for parent in parents])
    values /= values.max()  # otherwise the sum may overflow
    return np.asarray(values / values.sum())


def recombine(
    parents: Sequence[Individual], ties: Sequence[Tie], rng: np.random.Generator
) -> dict[str, Value]:
    """A valid child: the parent of each parameter's value is drawn independently (section 4.2)."""
    edges = np.cumsum(fitness_shares(parents))
    child = dict(parents[0].config)  # for the order of its keys: all values are replaced
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
    """A valid mutant: each value is the end of a random walk from the child's (section 4.3)."""
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
