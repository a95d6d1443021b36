"""The genetic algorithm with which AutoTVM's paper compares.

It is the baseline GA of "Learning to Optimize Tensor Programs", figure 4. The paper gives no
constants, so they are those of the released implementation: a population of 100, 3 elites, each
parameter mutated with probability 0.1, parents drawn in proportion to their fitness, one-point
crossover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space, Value
from tunesmith.tuners.breeding import Individual, crossover, roulette_pairs
from tunesmith.tuners.tuner import Search, Tuner, fitness, option

# Parameters of a child are redrawn, one at a time, until it is valid and new. After this many draws
# a random config replaces it.
_REDRAWS = 100


@dataclass(frozen=True)
class Genetic(Tuner):
    """AutoTVM's genetic algorithm: crossover of good configs, mutation, elites."""

    name: ClassVar[str] = "genetic"
    random_start_option: ClassVar[str | None] = "population"

    population: int = option(100, "configs a generation")
    elites: int = option(3, "best configs so far that stay parents in each generation")
    mutation: float = option(0.1, "probability that a child's parameter is drawn anew")

    def check(self) -> None:
        self.require_least(2, "population")
        self.require(
            0 <= self.elites < self.population,
            f"elites must be 0 or more and less than the population ({self.population}), "
            f"not {self.elites}",
        )
        self.require_share("mutation")

    def start(self, space: Space, seed: int) -> GeneticSearch:
        return GeneticSearch(self, space, seed)


class GeneticSearch(Search):
    """A running genetic search.

    A generation is the next ``population`` observations. The first one is random; a complete one
    and the elites of all earlier ones are the parents of the next. If more configs are requested
    while measurements of the generation are pending, the search does not wait: it breeds from the
    parents and from what has arrived (or draws at random with fewer than two of them), and these
    children are the first of the next generation. If measurements arrive in time, this is the
    synchronous algorithm.
    """

    def __init__(self, settings: Genetic, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.generation = 0
        self.elites: list[Individual] = []
        self.parents: list[Individual] = []
        self.arrived: list[Individual] = []

    def next_config(self) -> Config | None:
        due = (self.generation + 1) * self.settings.population
        pool = self.parents if len(self.seen) < due else self.parents + self.arrived
        child = self._breed(pool) if len(pool) >= 2 else None
        return self.fresh_config() if child is None else child

    def learn(self, measurement: Measurement) -> None:
        self.arrived.append(Individual(measurement.config, fitness(measurement)))
        if len(self.arrived) == self.settings.population:
            self.parents = self.arrived + self.elites
            best_first = sorted(self.parents, key=lambda parent: -parent.fitness)
            self.elites = best_first[: self.settings.elites]
            self.arrived = []
            self.generation += 1

    def _breed(self, pool: Sequence[Individual]) -> Config | None:
        """A valid and new child; None if redrawing its parameters finds none."""
        [(mother, father)] = roulette_pairs([parent.fitness for parent in pool], 1, self.rng)
        child = crossover(pool[mother].config, pool[father].config, self.space.names, self.rng)
        mutated = self.rng.random(len(child)) < self.settings.mutation
        for index in np.flatnonzero(mutated):
            self._redraw(child, int(index))
        for _ in range(_REDRAWS):
            config = Config.from_values(child.copy())
            if config not in self.seen and self.space.contains(config):
                return config
            self._redraw(child, int(self.rng.integers(len(child))))
        return None

    def _redraw(self, child: dict[str, Value], index: int) -> None:
        parameter = self.space.parameters[index]
        child[parameter.name] = parameter.sample(self.rng)
