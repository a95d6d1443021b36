"""From the store to a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tunesmith.budget import Stop
from tunesmith.cli.past_runs import Sketches, sessions_by, time_of
from tunesmith.errors import UsageError
from tunesmith.reports import MeasuredConfig, RunReport, SketchShare, trial_points, write_report
from tunesmith.reports import format as fmt

if TYPE_CHECKING:
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.measurement import Measurement
    from tunesmith.problem import Problem
    from tunesmith.space import Config
    from tunesmith.store import Record, Session, Store
    from tunesmith.tuning.result import Found, Result


def write_task_report(store: Store, problems: Sequence[TaskProblem], path: Path) -> None:
    """Write the page about all runs of a task by these sketches on this machine.

    The default to compare with is that of the first sketch.

    Raises ``UsageError`` if nothing is recorded, ``TunesmithError`` if the file cannot be written.
    """
    first = problems[0]
    sketches = _identities(problems)
    sessions = sessions_by(store, first.key, sketches)
    if not sessions:
        raise UsageError(f"nothing is recorded for {first.key} on this machine: tune it first")
    best = store.best(first.key, among=sketches)
    name, version = sketches[0]
    default = store.measurement_of(first.key, first.default, sketch=name, sketch_version=version)
    report = _report(
        first,
        [(session, _trials(store, session, sketches)) for session in sessions],
        default=MeasuredConfig.of(default, name),
        best=None if best is None else MeasuredConfig.of(best.measurement, best.sketch),
        program=_program(problems, best),
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

    Where it continued or shared other runs (``resumed``), their trials are part of it, as they are
    of the result. ``peers`` are seconds of a call by name, ``command`` is what repeats the run.

    Raises ``TunesmithError`` if the file cannot be written.
    """
    problems, own = _problems_of(result), result.session
    assert own is not None
    key, sketches = result.problem.key, _identities(problems)
    lasted = timedelta(seconds=result.time["total"] if result.shared else 0.0)
    known_until = own.started + lasted
    continued = []
    machine = own.machine.get("fingerprint")  # that of a device elsewhere, perhaps
    for session in sessions_by(store, key, sketches, machine=machine):
        if session.uid == own.uid:
            continued.append((session, _trials(store, session, sketches)))
        elif resumed:  # others may have gone on since; what they did then is not of this run
            trials = _trials(store, session, sketches)
            known = [it for it in trials if it.created <= known_until]
            continued += [(session, known)] if known else []
    continued.sort(key=lambda pair: pair[0].uid == own.uid)
    report = _report(
        problems[0],
        continued,
        default=_measured(result.default),
        best=_measured(result.best),
        peers=peers,
        program="" if result.best is None else _script(result.best.problem, result.best.config),
        command=command,
    )
    write_report(report, path)


def _problems_of(result: Result) -> Sequence[TaskProblem]:
    from tunesmith.measure.task.problem import TaskProblem

    return [each for each in result.problem.alternatives if isinstance(each, TaskProblem)]


def _identities(problems: Sequence[TaskProblem]) -> Sketches:
    return [(problem.sketch.name, problem.sketch.version) for problem in problems]


def _measured(found: Found | None) -> MeasuredConfig | None:
    return None if found is None else MeasuredConfig.of(found.measurement, found.sketch)


def _program(problems: Sequence[TaskProblem], best: Record | None) -> str:
    if best is None:
        return ""
    (problem,) = (problem for problem in problems if problem.sketch.name == best.sketch)
    return _script(problem, best.config)


def _script(problem: Problem, config: Config) -> str:
    from tunesmith.measure.task.problem import TaskProblem

    assert isinstance(problem, TaskProblem)
    return str(problem.program(config).script())


def _report(
    problem: TaskProblem,
    runs: Sequence[tuple[Session, list[Record]]],
    *,
    default: MeasuredConfig | None,
    best: MeasuredConfig | None,
    program: str,
    peers: Mapping[str, float] | None = None,
    command: str = "",
) -> RunReport:
    """The page about these runs, of which the last one gives what they do not share."""
    sessions = [session for session, _ in runs]
    last = sessions[-1]
    machine = last.machine
    return RunReport(
        task=problem.key,
        title=problem.task.operator.label,
        # The processor beside a GPU is under "machine".
        target=fmt.listed({name: it for name, it in last.target.items() if name != "host"}),
        machine=f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores",
        tuner=": ".join(filter(None, [last.tuner, fmt.listed(last.tuner_settings)])),
        started=sessions[0].started,
        budget=fmt.listed(last.budget) or "none",
        stopped=_stopped(last),
        flops=problem.flops,
        trials=trial_points(_timed(runs)),
        time=time_of(sessions),
        default=default,
        best=best,
        peers=dict(peers or {}),
        versions=dict(last.versions),
        gpu=str(machine.get("device", "")),
        sketches=_sketches(record for _, trials in runs for record in trials),
        program=program,
        command=command,
    )


def _sketches(trials: Iterable[Record]) -> list[SketchShare]:
    """What each sketch had of these trials, fastest first."""
    counted: dict[str, list[float]] = {}
    for record in trials:
        counted.setdefault(record.sketch, []).append(record.measurement.seconds)
    shares = [
        SketchShare(name, len(times), None if math.isinf(min(times)) else min(times))
        for name, times in counted.items()
    ]
    return sorted(shares, key=lambda share: share.seconds or math.inf)


def _trials(store: Store, session: Session, sketches: Sketches) -> list[Record]:
    """A run's trials by these sketches."""
    machine = session.machine.get("fingerprint")
    trials = store.records(session.task_key, session=session, machine=machine)
    return [trial for trial in trials if (trial.sketch, trial.sketch_version) in sketches]


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


def _stopped(session: Session) -> str:
    """Why a run ended, in words; those of a newer version as they are."""
    if not session.stopped:
        return "not finished"
    known = {stop.value: stop.meaning for stop in Stop}
    return known.get(session.stopped, session.stopped)
