"""From the store to a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.budget import Stop
from tunesmith.cli.past_runs import sessions_by, time_of
from tunesmith.errors import UsageError
from tunesmith.reports import MeasuredConfig, RunReport, trial_points, write_report
from tunesmith.reports.format import config_value

if TYPE_CHECKING:
    from tunesmith.measure.task_problem import TaskProblem
    from tunesmith.measurement import Measurement
    from tunesmith.result import Found, Result
    from tunesmith.store import Record, Session, Store


def write_task_report(store: Store, problem: TaskProblem, path: Path) -> None:
    """Write the page about all runs of a task by its sketch on this machine.

    Raises ``UsageError`` if nothing is recorded, ``TunesmithError`` if the file cannot be written.
    """
    name, version = problem.sketch.name, problem.sketch.version
    sessions = sessions_by(store, problem.key, name, version)
    if not sessions:
        raise UsageError(f"nothing is recorded for {problem.key} on this machine: tune it first")
    best = store.best(problem.key, sketch=name, sketch_version=version)
    default = store.measurement_of(
        problem.key, problem.default, sketch=name, sketch_version=version
    )
    report = _report(
        problem,
        sessions,
        _timed((session, _trials(store, session)) for session in sessions),
        default=default,
        best=None if best is None else best.measurement,
    )
    write_report(report, path)


def write_run_report(
    store: Store,
    result: Result,
    path: Path,
    *,
    resumed: bool,
    peers: Mapping[str, float],
    command: str,
) -> None:
    """Write the page about a run that just ended, with what was printed of it.

    Where it continued earlier runs (``resumed``), their trials are part of it, as they are of the
    result. ``peers`` are seconds of a call by name, ``command`` is what repeats the run.

    Raises ``TunesmithError`` if the file cannot be written.
    """
    from tunesmith.measure.task_problem import TaskProblem

    problem, own = result.problem, result.session
    assert isinstance(problem, TaskProblem)
    assert own is not None
    continued = []
    for session in sessions_by(store, problem.key, own.sketch, own.sketch_version):
        if session.uid == own.uid:
            continued.append((session, _trials(store, session)))
        elif resumed:  # others may have gone on since; what they did then is not of this run
            known = [it for it in _trials(store, session) if it.created <= own.started]
            continued += [(session, known)] if known else []
    continued.sort(key=lambda pair: pair[0].uid == own.uid)
    report = _report(
        problem,
        [session for session, _ in continued],
        _timed(continued),
        default=_measurement(result.default),
        best=_measurement(result.best),
        peers=peers,
        command=command,
    )
    write_report(report, path)


def _measurement(found: Found | None) -> Measurement | None:
    return None if found is None else found.measurement


def _report(
    problem: TaskProblem,
    sessions: Sequence[Session],
    timed: Iterable[tuple[Measurement, float]],
    *,
    default: Measurement | None,
    best: Measurement | None,
    peers: Mapping[str, float] | None = None,
    command: str = "",
) -> RunReport:
    """The page about these runs, of which the last one gives what they do not share."""
    last = sessions[-1]
    machine = last.machine
    return RunReport(
        task=problem.key,
        title=problem.task.operator.label,
        target=_listed(last.target),
        machine=f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores",
        tuner=": ".join(filter(None, [last.tuner, _listed(last.tuner_settings)])),
        started=sessions[0].started,
        budget=_listed(last.budget) or "none",
        stopped=_stopped(last),
        flops=problem.flops,
        trials=trial_points(timed),
        time=time_of(sessions),
        default=MeasuredConfig.of(default),
        best=MeasuredConfig.of(best),
        peers=dict(peers or {}),
        versions=dict(last.versions),
        program="" if best is None else str(problem.program(best.config).script()),
        command=command,
    )


def _trials(store: Store, session: Session) -> list[Record]:
    return list(store.records(session.task_key, session=session))


def _timed(runs: Iterable[tuple[Session, list[Record]]]) -> list[tuple[Measurement, float]]:
    """All trials with the seconds since the first run began, the time between runs left out."""
    timed: list[tuple[Measurement, float]] = []
    before = 0.0
    for session, trials in runs:
        ends = [(record.created - session.started).total_seconds() for record in trials]
        timed += [
            (record.measurement, before + end) for record, end in zip(trials, ends, strict=True)
        ]
        before += max([sum(session.time_split.values()), *ends])
    return timed


def _listed(values: Mapping[str, Any]) -> str:
    """Names and values for people: ``kind = llvm, num-cores = 2``; what is not set is left out."""
    given = {name: value for name, value in values.items() if value is not None}
    return ", ".join(f"{name} = {config_value(value)}" for name, value in given.items())


def _stopped(session: Session) -> str:
    """Why a run ended, in words; those of a newer version as they are."""
    if not session.stopped:
        return "not finished"
    known = {stop.value: stop.meaning for stop in Stop}
    return known.get(session.stopped, session.stopped)
