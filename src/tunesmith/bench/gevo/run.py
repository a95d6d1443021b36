"""Carries out a case: an evolution, whose front becomes a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunesmith.bench.gevo.case import Case
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.budget import Budget
from tunesmith.evolve.evaluation.pool import EvaluationSettings
from tunesmith.evolve.front import Front, Point
from tunesmith.evolve.run import State, evolve
from tunesmith.store import Store


def evolve_case(
    case: Case,
    *,
    seconds: float,
    seed: int,
    store: Store | str | Path | None,
    progress: Callable[[State], None],
) -> Front:
    """Evolve a case for so many seconds; what the store has of it is gone on from.

    Raises ``MissingDependencyError`` where it needs what is not installed.
    """
    tested = case.make()
    return evolve(
        tested.program,
        tested.tests,
        heldout=tested.heldout,
        objectives=case.objectives,
        error=case.error or 0.0,
        metric=tested.error_of,
        budget=Budget(seconds=seconds),
        search=replace(case.search, seed=seed),
        evaluation=EvaluationSettings(timeout=case.timeout),
        store=store,
        progress=progress,
    )


def row_of(case: Case, front: Front, command: str) -> dict[str, Any]:
    """A row of figures: of the fastest point whose errors, those held out too, are within what is
    allowed; ``front`` has all points, ``history`` what was known after each generation."""
    best = next(
        (each for each in front if max(each.error, each.heldout_error) <= case.allowed), None
    )
    return {
        "case": case.name,
        "speedup": 1.0 if best is None else best.speedup,
        "error": 0.0 if best is None else best.error,
        "heldout_error": 0.0 if best is None else best.heldout_error,
        "heldout_speedup": 1.0 if best is None else 1.0 / best.heldout_ratio,
        "evaluations": front.evaluations,
        "earlier_evaluations": front.earlier,
        "edits": 0 if best is None else len(best.edits),
        "seconds": front.seconds,
        "stopped": front.stopped,
        "outcomes": dict(front.outcomes),
        "front": [_point(each) for each in front],
        "words": [] if best is None else best.subject.representation.describe(best.edits),
        "history": [
            [each.seconds, each.evaluations, each.valid, min((r for r, _ in each.front), default=1)]
            for each in front.history
        ],
        "command": command,
        "origin": origin_now(),
    }


def _point(point: Point) -> dict[str, Any]:
    found = point.to_json()
    names = ("speedup", "error", "heldout_speedup", "heldout_error")
    return {**{name: found[name] for name in names}, "edits": len(point.edits)}
