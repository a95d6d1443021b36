"""A closer look at what a search has found: each program alone on the machine, without the edits
that do nothing, and on what the search has never seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.pool import EvaluationPool
from tunesmith.evolve.evaluation.subject import Subject
from tunesmith.evolve.front import Point
from tunesmith.evolve.search.individual import Individual, Program, front
from tunesmith.evolve.search.minimize import dependences, minimized
from tunesmith.evolve.search.nsga2 import selected
from tunesmith.measurement import Outcome

MOST_POINTS = 12
"""So many programs are looked at, at most."""

# How often a point is measured.
_LOOKS = 5


def front_of(points: Sequence[Point]) -> list[Point]:
    """Those that no faster one is as right as; the fastest come first."""
    return [
        point
        for number, point in enumerate(points)
        if all(point.error < faster.error for faster in points[:number])
    ]


@dataclass(frozen=True)
class CloserLook:
    """Evaluates in the ``pool``, where nothing else may be under way. ``limit`` is how wrong a
    program may be, and ``original_error`` how wrong the original is. Where outputs must be the same
    (``exact``) there is one point. After so many ``seconds`` only programs of the front are still
    looked at."""

    subject: Subject
    pool: EvaluationPool
    limit: float
    original_error: float
    exact: bool
    seconds: float

    def look(
        self,
        known: Sequence[Individual],
        points: list[Point],
        *,
        ablation: bool,
        tell: Callable[[str], None],
    ) -> None:
        """Look at the front of the programs that are known, and as some of it fail or turn out
        alike, at the next best. Adds what holds to ``points``, the fastest first, so that these are
        there when Ctrl-C ends it. Where there is one point, it is the best that holds on what is
        held out. ``tell`` is told what is done; with ``ablation`` it is looked which edits depend
        on each other."""
        chosen, certain = self._chosen(known)
        until = time.monotonic() + self.seconds
        for number, individual in enumerate(chosen, 1):
            if self.exact and points and points[0].ratio <= individual.objectives[0]:
                break
            if number > certain and time.monotonic() >= until:
                break
            tell(f"looking closer at program {number} of {len(chosen)}")
            edits = minimized(self.subject.representation, individual.edits, self._again)
            point = self._point(edits, ablation=ablation) if edits else None
            if point is not None:
                points.append(point)
                points.sort(key=lambda point: (point.ratio, point.error))

    def _chosen(self, known: Sequence[Individual]) -> tuple[list[Individual], int]:
        """The programs to look at, those that should be best first, and how many of them are so
        however long it takes."""
        if self.exact:
            return sorted(known, key=lambda it: it.objectives)[:MOST_POINTS], MOST_POINTS
        better = [
            each
            for each in known
            if each.objectives[0] < 1.0 or each.objectives[1] < self.original_error
        ]
        best = selected(front(better), MOST_POINTS)
        others = selected([each for each in better if each not in best], MOST_POINTS - len(best))
        return [*sorted(best, key=lambda it: it.objectives), *others], len(best)

    def _point(self, edits: tuple[Edit, ...], *, ablation: bool) -> Point | None:
        """None for what is no better than the original, looked at alone, or fails what it has not
        seen."""
        found = self._again(edits, looks=_LOOKS)
        heldout = self._again(edits, looks=_LOOKS, heldout=True)
        better = found.ratio < 1.0 or found.error < self.original_error
        holds = heldout.within(self.limit) if self.exact else heldout.ran
        if not found.within(self.limit) or not better or not holds:
            return None
        depend = dependences(edits, self._again, self.limit) if ablation else None
        return Point(
            self.subject,
            edits,
            found.ratio,
            found.error,
            heldout.ratio,
            heldout.error,
            depend,
        )

    def _again(
        self, edits: tuple[Edit, ...], *, looks: int = 1, heldout: bool = False
    ) -> Evaluation:
        """Evaluate edits so many times, for the median of the times."""
        try:
            text = self.subject.representation.apply(edits)
        except InvalidEditError as error:
            return Evaluation(Outcome.INSTANTIATION_ERROR, message=str(error))
        program = Program("")
        # What the limit is of is the original's error on the tests of the search, not on others.
        limit = math.inf if heldout and not self.exact else self.limit
        for _ in range(looks):
            found = self.pool.evaluate(text, limit=limit, heldout=heldout)
            program.evaluations.append(found)
        return program.evaluation
