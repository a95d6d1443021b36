"""An individual: its edits, and what they are worth."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.evaluation import Evaluation


@dataclass
class Program:
    """What some edits make: ``digest`` of its text, and all ``evaluations`` of it."""

    digest: str
    evaluations: list[Evaluation] = field(default_factory=list)

    @property
    def evaluation(self) -> Evaluation:
        """The last one, with the median of the times of all: one lucky time is not selected."""
        last = self.evaluations[-1]
        if not last.ran:
            return last
        return Evaluation(
            last.outcome,
            statistics.median(each.ratio for each in self.evaluations if each.ran),
            statistics.median(each.seconds for each in self.evaluations if each.ran),
            max(each.error for each in self.evaluations if each.ran),
            last.message,
        )


@dataclass(frozen=True, eq=False)
class Individual:
    """A patch of the original, and the program that it makes."""

    edits: tuple[Edit, ...]
    program: Program

    @property
    def objectives(self) -> tuple[float, float]:
        """The ratio of times and the error: less is better."""
        evaluation = self.program.evaluation
        return evaluation.ratio, evaluation.error


def front(individuals: list[Individual]) -> list[Individual]:
    """Those that no other is better than, or as good and better in one objective; the fastest
    first, and of programs with the same objectives the one with fewer edits."""
    found: list[Individual] = []
    least = float("inf")
    for each in sorted(individuals, key=lambda it: (*it.objectives, len(it.edits))):
        if each.objectives[1] < least:
            least = each.objectives[1]
            found.append(each)
    return found
