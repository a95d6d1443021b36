"""An individual: its edits, and what they are worth."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.measurement import Outcome

_LATE = frozenset({Outcome.BUILD_TIMEOUT, Outcome.RUN_TIMEOUT})


@dataclass
class Program:
    """What some edits make: ``digest`` of its text, and all ``evaluations`` of it."""

    digest: str
    evaluations: list[Evaluation] = field(default_factory=list)

    @property
    def evaluation(self) -> Evaluation:
        """That of all: the median of the times, so that one lucky time is not selected, and the
        largest error. What crashed once has failed; what took too long, which happens on a busy
        machine, has failed if that was so more often than not."""
        ran = [each for each in self.evaluations if each.ran]
        late = [each for each in self.evaluations if each.outcome in _LATE]
        if len(late) > len(ran) or len(ran) + len(late) < len(self.evaluations):
            return next(each for each in reversed(self.evaluations) if not each.ran)
        return Evaluation(
            ran[-1].outcome,
            statistics.median(each.ratio for each in ran),
            statistics.median(each.seconds for each in ran),
            max(each.error for each in ran),
            ran[-1].message,
            ran[-1].original_error,
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
