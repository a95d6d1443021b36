"""Mutation and crossover, which ask for evaluations until a variant is valid.

They are generators: they yield edits, are sent the program that these make, and return an
individual, None where no try was valid.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass

from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.representation import Representation, random_edit
from tunesmith.evolve.search.individual import Individual, Program

Trying = Generator[tuple[Edit, ...], Program, Individual | None]


@dataclass(frozen=True)
class Variation:
    """How individuals change. ``error_limit`` is what makes a program invalid; a change has up to
    ``tries`` tries."""

    representation: Representation
    error_limit: float
    tries: int

    def mutated(self, individual: Individual, random: random.Random, times: int = 1) -> Trying:
        """With so many random edits more, each of which leaves it valid; with fewer where there
        are no more of these."""
        found = None
        for _ in range(times):
            mutant = yield from self._mutated(found or individual, random)
            if mutant is None:
                break
            found = mutant
        return found

    def _mutated(self, individual: Individual, random: random.Random) -> Trying:
        for _ in range(self.tries):
            try:
                edit = random_edit(self.representation, individual.edits, random)
            except InvalidEditError:
                return None
            edits = (*individual.edits, edit)
            program = yield edits
            if program.evaluation.within(self.error_limit):
                return Individual(edits, program)
        return None

    def crossed(self, first: Individual, second: Individual, random: random.Random) -> Trying:
        """Messy one-point crossover: the edits of both, shuffled, as far as a random cut."""
        both = list(dict.fromkeys((*first.edits, *second.edits)))
        if len(both) < 2:
            return None
        for _ in range(self.tries):
            random.shuffle(both)
            edits = tuple(both[: random.randint(1, len(both))])
            program = yield edits
            if program.evaluation.within(self.error_limit):
                return Individual(edits, program)
        return None

    def offspring(
        self,
        parents: tuple[Individual, Individual],
        random: random.Random,
        crossover: float,
        mutation: float,
    ) -> Trying:
        """Crossed with a probability, and mutated with another; an individual to which neither
        happens would be a copy, so it is mutated."""
        child: Individual | None = parents[0]
        if random.random() < crossover:
            child = yield from self.crossed(*parents, random)
            if child is not None and random.random() >= mutation:
                return child
        return (yield from self.mutated(child or parents[0], random))
