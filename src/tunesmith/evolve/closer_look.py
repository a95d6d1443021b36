"""A closer look at what a search has found: each program alone on the machine, without the edits
that do nothing, and on what the search has never seen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.pool import EvaluationPool
from tunesmith.evolve.evaluation.subject import Subject
from tunesmith.evolve.front import Point
from tunesmith.evolve.search.individual import Individual, Program
from tunesmith.evolve.search.minimize import dependences, minimized
from tunesmith.measurement import Outcome

MOST_POINTS = 12
"""So many programs are looked at, at most."""

# How often a point is measured.
_LOOKS = 5


def _spread(candidates: Sequence[Individual], most: int) -> Sequence[Individual]:
    """So many of a front, at most, from one end to the other."""
    if len(candidates) <= most:
        return candidates
    last = len(candidates) - 1
    return [candidates[round(number * last / (most - 1))] for number in range(most)]


@dataclass(frozen=True)
class CloserLook:
    """Evaluates in the ``pool``, where nothing else may be under way. ``limit`` is how wrong a
    program may be, and ``original_error`` how wrong the original is. Where outputs must be the same
    (``exact``) there is one point."""

    subject: Subject
    pool: EvaluationPool
    limit: float
    original_error: float
    exact: bool

    def points(
        self, candidates: Sequence[Individual], *, ablation: bool, tell: Callable[[str], None]
    ) -> list[Point]:
        """The front of what candidates turn out to be, the fastest first. Those that should be best
        come first; where there is one point, it is the best that holds on what is held out.
        ``tell`` is told what is done; with ``ablation`` it is looked which edits depend on each
        other."""
        points: list[Point] = []
        chosen = candidates[:MOST_POINTS] if self.exact else _spread(candidates, MOST_POINTS)
        with contextlib.suppress(KeyboardInterrupt):  # what was found so far is kept
            for number, individual in enumerate(chosen, 1):
                if self.exact and points and points[0].ratio <= individual.objectives[0]:
                    break
                tell(f"looking closer at program {number} of {len(chosen)}")
                edits = minimized(self.subject.representation, individual.edits, self._again)
                point = self._point(edits, ablation=ablation) if edits else None
                if point is not None:
                    points.append(point)
                    points.sort(key=lambda point: (point.ratio, point.error))
        return [
            point
            for number, point in enumerate(points)
            if all(point.error < faster.error for faster in points[:number])
        ]

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
        for _ in range(looks):
            found = self.pool.evaluate(text, limit=self.limit, heldout=heldout)
            program.evaluations.append(found)
        return program.evaluation
