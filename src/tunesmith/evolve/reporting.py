"""A front as a report."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.evolve.front import Front, Generation, Point
from tunesmith.machine import this_machine
from tunesmith.measurement import Outcome
from tunesmith.reports.evolve.model import EvolveReport, ProgramRow, Step
from tunesmith.reports.format import outcome_name
from tunesmith.store import library_versions


def report_of(front: Front, *, exact: bool, commands: Sequence[str] = ()) -> EvolveReport:
    """What there is to show of a front."""
    machine = this_machine()
    versions = ", ".join(" ".join(each) for each in library_versions().items())
    return EvolveReport(
        front.subject.name,
        exact,
        [_row(point) for point in front],
        [step_of(number, each) for number, each in enumerate(front.history)],
        front.evaluations,
        front.seconds,
        {_named(name): count for name, count in front.outcomes.items()},
        [
            ("Machine", f"{machine['cpu']}, {machine['cores']} cores"),
            ("Software", versions),
            ("Stopped", front.stopped),
            *(("Doubt", each) for each in front.doubts),
        ],
        commands,
    )


def step_of(number: int, generation: Generation, doing: str = "") -> Step:
    """A generation as it is shown, and what is done after it."""
    return Step(
        number,
        generation.seconds,
        generation.evaluations,
        generation.valid,
        [(1.0 / ratio, error) for ratio, error in generation.front if ratio < 1.0],
        doing,
    )


def _named(outcome: str) -> str:
    """How a program ended, in words."""
    known = Outcome.__members__
    return outcome_name(known[outcome]) if outcome in known else outcome


def _row(point: Point) -> ProgramRow:
    words = point.subject.representation.describe(point.edits)
    remarks = [
        f"Edits {each.first + 1} and {each.second + 1} depend on each other: the first gains "
        f"{each.alone:.1%} alone, {each.together:.1%} with the other."
        for each in point.dependences or ()
    ]
    return ProgramRow(
        point.speedup,
        point.error,
        1.0 / point.heldout_ratio,
        point.heldout_error,
        words,
        point.difference,
        remarks,
    )
