"""NoSE: an evolutionary algorithm that measures only the offspring a k-NN surrogate ranks highest.

"Evolutionary Algorithm with Non-parametric Surrogate Model for Tensor Program Optimization",
section III-B; the constants are those of section V-D. Each generation breeds M offspring of a
population of N, by the roulette wheel, one-point crossover and uniform mutation (steps 1 and 2),
predicts their speed from all measurements (step 3), measures the E best (step 4), and keeps the N
best (step 5). The surrogate's equations 1 to 4 are in ``knn``. Differences from the paper:

- Nothing waits. When the elite of a generation is proposed, the next one is bred from what is known
  by then. If measurements arrive in time, this is the paper's algorithm.
- Offspring that were seen before, or violate a constraint, are bred again, ten times at most;
  random configs replace those of the elite that are still missing.
- Two parents are always different configs, and a mutated gene always changes.
- Neighbours are found by exhaustive search, for all offspring at once, and not with the k-d trees
  that the paper refers to.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tunesmith.features.genes import Genes
from tunesmith.measurement import Measurement
from tunesmith.models.knn import KnnRegressor
from tunesmith.space import Config, Space
from tunesmith.tuners.breeding import Individual, another_value, crossover, roulette_pairs
from tunesmith.tuners.tuner import Search, Tuner, fitness, option

# The most children bred per offspring, on average; then a generation continues with fewer.
_CHILDREN_PER_OFFSPRING = 10


@dataclass(frozen=True)
class Nose(Tuner):
    """NoSE: a genetic algorithm whose offspring a k-NN surrogate chooses from."""

    name: ClassVar[str] = "nose"
    random_start_option: ClassVar[str | None] = "population"

    population: int = option(100, "configs that may be parents: the best so far (N)")
    offspring: float = option(1.5, "offspring bred a generation, as a share of the population")
    elite: float = option(0.3, "offspring measured a generation, as a share of the population")
    mutation: float = option(0.3, "probability that an offspring's parameter is drawn anew (p)")
    neighbours: int = option(9, "nearest measured configs that a prediction is made of (k)")

    def check(self) -> None:
        self.require_least(2, "population")
        self.require(
            0.0 < self.elite <= self.offspring <= 1000.0,
            f"elite must be more than 0 and at most offspring ({self.offspring}), and that at most "
            f"1000, not {self.elite}",
        )
        self.require_share("mutation")
        self.require_least(1, "neighbours")

    @property
    def offspring_count(self) -> int:
        """The offspring bred per generation (M)."""
        return max(1, round(self.offspring * self.population))

    @property
    def elite_count(self) -> int:
        """The offspring measured per generation (E)."""
        return max(1, round(self.elite * self.population))

    def start(self, space: Space, seed: int) -> NoseSearch:
        return NoseSearch(self, space, seed)


class NoseSearch(Search):
    """A running NoSE search.

    Every survivor of step 5 is better than what it displaces. So the population is always the N
    best of all observations, which may arrive in any order. The first N proposals are random (P_0);
    later ones are the elite of a generation, best prediction first. If more configs are requested
    than are left of an elite while measurements are pending, the search breeds the next generation
    from what is known. If measurements arrive in time, this is the synchronous algorithm.
    """

    def __init__(self, settings: Nose, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.population: list[Individual] = []
        self._genes = Genes(space)
        self._rows: list[list[float]] = []  # the genes of each observed config
        self._speeds: list[float] = []  # in calls per second
        self._elite: list[Config] = []
        self._random_due = 0

    def next_config(self) -> Config | None:
        if len(self.seen) < self.settings.population or len(self.population) < 2:
            return self.fresh_config()
        if not self._elite and not self._random_due:
            self._next_generation()
        while self._elite:
            config = self._elite.pop(0)
            if config not in self.seen:
                return config
        self._random_due = max(0, self._random_due - 1)
        return self.fresh_config()

    def learn(self, measurement: Measurement) -> None:
        speed = fitness(measurement)
        self._rows.append(self._genes.of(measurement.config))
        self._speeds.append(speed)
        insort(
            self.population,
            Individual(measurement.config, speed),
            key=lambda individual: -individual.fitness,
        )
        del self.population[self.settings.population :]

    def _next_generation(self) -> None:
        """Breed, predict, and keep the best; random configs replace missing offspring."""
        offspring = self._breed()
        predicted = self.predict(offspring)
        best = np.argsort(-predicted, kind="stable")[: self.settings.elite_count]
        self._elite = [offspring[index] for index in best]
        self._random_due = self.settings.elite_count - len(best)

    def predict(self, configs: Sequence[Config]) -> npt.NDArray[np.float64]:
        """Predicted speeds of configs from all observations, shape (configs,)."""
        genes = self._genes
        model = KnnRegressor(
            sum(genes.widths), self.settings.neighbours, genes.widths, genes.unordered
        )
        model.fit(np.array(self._rows), np.array(self._speeds))
        return model.predict(genes.of_all(configs)).means

    def _breed(self) -> list[Config]:
        """M distinct, valid and new offspring; fewer if not enough are found."""
        count = self.settings.offspring_count
        speeds = [individual.fitness for individual in self.population]
        found: dict[Config, None] = {}
        for _ in range(_CHILDREN_PER_OFFSPRING):
            for mother, father in roulette_pairs(speeds, count, self.rng):
                child = self._child(self.population[mother].config, self.population[father].config)
                if child not in self.seen and self.space.contains(child):
                    found[child] = None
                    if len(found) == count:
                        return list(found)
        return list(found)

    def _child(self, mother: Config, father: Config) -> Config:
        values = crossover(mother, father, self.space.names, self.rng)
        mutated = self.rng.random(len(values)) < self.settings.mutation
        for index in np.flatnonzero(mutated):
            parameter = self.space.parameters[index]
            values[parameter.name] = another_value(parameter, values[parameter.name], self.rng)
        return Config.from_values(values)
