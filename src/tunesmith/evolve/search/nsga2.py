"""The search: NSGA-II over time and error (Deb et al. 2002), with GEVO's operators."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.evolve.representation import Representation
from tunesmith.evolve.search.driver import Driver
from tunesmith.evolve.search.individual import Individual
from tunesmith.evolve.search.variation import Trying, Variation


@dataclass(frozen=True)
class SearchSettings:
    """``population`` individuals, of which the best ``elites`` share stays; the first ones have
    ``first_edits`` each. ``crossover`` and ``mutation`` are probabilities; a variation has up to
    ``tries`` tries until it is valid ("GEVO-ML", section 3). What stays is measured again until
    there are ``looks`` times of it.

    Raises ``UsageError`` for a value that makes no sense.
    """

    population: int = 32
    elites: float = 0.25
    first_edits: int = 3
    crossover: float = 0.8
    mutation: float = 0.3
    tries: int = 30
    looks: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (
            ("population", 4),
            ("first_edits", 1),
            ("tries", 1),
            ("looks", 1),
            ("seed", 0),
        ):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be {least} or more, not {getattr(self, name)}")
        for name in ("elites", "crossover", "mutation"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} must be from 0 to 1, not {getattr(self, name):g}")


class NoMutationError(TunesmithError):
    """No random edit leaves the program valid."""


class Search:
    """A population, generation by generation. ``original`` has no edits."""

    def __init__(
        self,
        representation: Representation,
        driver: Driver,
        original: Individual,
        error_limit: float,
        settings: SearchSettings,
    ) -> None:
        self._driver = driver
        self._error_limit = error_limit
        self._settings = settings
        self._variation = Variation(representation, error_limit, settings.tries)
        self._original = original
        self.population: list[Individual] = []
        self.generation = 0

    def begin(self, population: Sequence[Individual] = ()) -> None:
        """Make the first generation, or go on with one of before.

        Raises ``NoMutationError`` if there is no valid mutation.
        """
        self.population = list(population)
        if self.population:
            return
        times = self._settings.first_edits
        self.population = self._valid(
            self._variation.mutated(self._original, chance, times)
            for chance in self._chances(self._settings.population)
        )
        if not self.population and not self._driver.stop():
            raise NoMutationError(
                "no random edit leaves the program valid: allow a larger error, or more time for a "
                "variant"
            )

    def step(self, known: Sequence[Individual] = ()) -> None:
        """Make the next generation: elites, and offspring of tournaments. Others that are ``known``
        to be good may be elites, too: what was tried on the way to an individual, say."""
        self.generation += 1
        count = self._settings.population
        elites = selected([*self.population, *known], max(1, round(self._settings.elites * count)))
        seldom = [it for it in elites if len(it.program.evaluations) < self._settings.looks]
        self._driver.again(seldom)
        elites = [it for it in elites if it.program.evaluation.within(self._error_limit)]
        chances = self._chances(count - len(elites))
        parents = self._parents()
        settings = self._settings
        offspring = self._valid(
            self._variation.offspring(next(parents), chance, settings.crossover, settings.mutation)
            for chance in chances
        )
        self.population = [*elites, *offspring]

    def _valid(self, variations: Iterator[Trying]) -> list[Individual]:
        return [found for found in self._driver.drive(variations) if found is not None]

    def _chances(self, count: int) -> list[random.Random]:
        """The generators of random numbers of so many variations of this generation."""
        first = f"{self._settings.seed}:{self.generation}"
        return [random.Random(f"{first}:{number}") for number in range(count)]

    def _parents(self) -> Iterator[tuple[Individual, Individual]]:
        """Winners of tournaments, in pairs."""
        chance = random.Random(f"{self._settings.seed}:{self.generation}:parents")
        # Where nothing is left that is valid, the search begins at the original again.
        ranks = _ranks(self.population or [self._original])
        while True:
            yield _tournament(ranks, chance), _tournament(ranks, chance)


def selected(individuals: Sequence[Individual], count: int) -> list[Individual]:
    """The best by NSGA-II: by front, and within the last one by crowding distance. Of those that
    make the same program one is taken."""
    tools = _deap().tools
    different = list({each.program.digest: each for each in individuals}.values())
    chosen = tools.selNSGA2([_Fit(each) for each in different], min(count, len(different)))
    return [each.individual for each in chosen]


class _Fit:
    """An individual as DEAP sees it."""

    def __init__(self, individual: Individual) -> None:
        self.individual = individual
        self.fitness = _fitness()(individual.objectives)


def _ranks(individuals: Sequence[Individual]) -> list[tuple[Individual, int, float]]:
    """Individuals with the number of their front and their crowding distance."""
    tools = _deap().tools
    fits = [_Fit(each) for each in individuals]
    ranked = []
    for number, fits_ in enumerate(tools.sortNondominated(fits, len(fits))):
        tools.emo.assignCrowdingDist(fits_)
        ranked += [(each.individual, number, each.fitness.crowding_dist) for each in fits_]
    return ranked


def _tournament(
    ranks: Sequence[tuple[Individual, int, float]], random: random.Random
) -> Individual:
    """The better one of two: of the better front, or else where it is less crowded."""
    pair = [random.choice(ranks), random.choice(ranks)]
    return min(pair, key=lambda each: (each[1], -each[2]))[0]


def _deap() -> Any:
    try:
        import deap.base
        import deap.tools
    except ImportError as error:
        raise MissingDependencyError(
            "evolving code needs DEAP: pip install 'tunesmith[evolve]'"
        ) from error
    return deap


_classes: list[Callable[..., Any]] = []


def _fitness() -> Callable[..., Any]:
    """DEAP's fitness of two objectives, both of which should be small."""
    if not _classes:
        base = _deap().base.Fitness
        _classes.append(type("Objectives", (base,), {"weights": (-1.0, -1.0)}))
    return _classes[0]
