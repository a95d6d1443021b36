"""From the store to a report and to rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tunesmith.errors import UsageError
from tunesmith.operators import operator_from_json
from tunesmith.reports import RunReport, trial_points, write_report
from tunesmith.reports.model import PHASES, Result
from tunesmith.reports.tables import HistoryRow

if TYPE_CHECKING:
    from tunesmith.measure.task_problem import TaskProblem
    from tunesmith.measurement import Measurement
    from tunesmith.store import Run, Session, Store


def write_task_report(
    store: Store,
    problem: TaskProblem,
    path: Path,
    peers: Mapping[str, float],
    command: str,
) -> None:
    """Write the page about all runs of a task by its sketch on this machine.

    Raises ``UsageError`` if nothing is recorded, ``TunesmithError`` if the file cannot be written.
    """
    sketch, version = problem.sketch.name, problem.sketch.version
    sessions = [
        session
        for session in store.sessions(problem.key)
        if (session.sketch, session.sketch_version) == (sketch, version)
    ]
    if not sessions:
        raise UsageError(f"nothing is recorded for {problem.key} on this machine: tune it first")
    best = store.best(problem.key, sketch=sketch, sketch_version=version)
    default = store.measurement_of(
        problem.key, problem.default, sketch=sketch, sketch_version=version
    )
    last = sessions[-1]
    machine = last.machine
    time = {phase: sum(s.time_split.get(phase, 0.0) for s in sessions) for phase in PHASES}
    report = RunReport(
        task=problem.key,
        title=problem.task.operator.label,
        target=", ".join(f"{key} {value}" for key, value in last.target.items()),
        machine=f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores",
        tuner=" ".join([last.tuner, *(f"{k}={v}" for k, v in last.tuner_settings.items())]),
        started=sessions[0].started,
        budget=_budget(last),
        stopped=last.stopped or "not finished",
        flops=problem.flops,
        trials=trial_points(_timed(store, sessions)),
        time=time,
        default=Result.of(default),
        best=None if best is None else Result.of(best.measurement),
        peers=dict(peers),
        versions=dict(last.versions),
        program="" if best is None else str(problem.program(best.config).script()),
        command=command,
    )
    write_report(report, path)


def _timed(store: Store, sessions: list[Session]) -> list[tuple[Measurement, float]]:
    """All trials with the seconds since the first run began, the time between runs left out."""
    timed: list[tuple[Measurement, float]] = []
    before = 0.0
    for session in sessions:
        trials = list(store.records(session.task_key, session=session))
        ends = [(record.created - session.started).total_seconds() for record in trials]
        timed += [
            (record.measurement, before + end) for record, end in zip(trials, ends, strict=True)
        ]
        before += max([sum(session.time_split.values()), *ends])
    return timed


def _budget(session: Session) -> str:
    limits = [f"{name} {limit:g}" for name, limit in session.budget.items() if limit is not None]
    return ", ".join(limits) or "none"


def history_row(run: Run, default: Measurement | None) -> HistoryRow:
    """A run as a row of the history table; ``default`` is what it is compared with."""
    description = run.session.description
    operator = description.get("operator")
    return HistoryRow(
        started=run.session.started,
        tuner=run.session.tuner,
        trials=run.trials,
        best_seconds=run.best_seconds,
        default_seconds=default.seconds if default is not None and default.valid else None,
        flops=None if operator is None else float(operator_from_json(operator).flops),
    )
