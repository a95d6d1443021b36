"""A database of MetaSchedule as records of what was tried there.

Functions that are an operator of ours become its tasks. A sketch of MetaSchedule's is called
``metaschedule:`` and a hash of its instructions, which the session's description holds; a config is
the decisions of a trace. Neither the machine nor the time of a trial is in a database: the machine
is its target. Such records are for comparison, and as data; no run begins with them. Those that
``write_database`` wrote become the records that they were.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tunesmith.compiler import llvm
from tunesmith.errors import StoreError, TunesmithError, UsageError
from tunesmith.exchange.metaschedule.functions import Found, Question, look_at
from tunesmith.exchange.metaschedule.names import RECORDS, WORKLOADS
from tunesmith.exchange.metaschedule.note import note_in
from tunesmith.exchange.metaschedule.traces import sketched
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import operator_from_json
from tunesmith.space import Config
from tunesmith.store import Record, Session
from tunesmith.target import Target
from tunesmith.task import Task

_LOGGER = logging.getLogger("tunesmith")

# MetaSchedule writes 1e10 seconds for what failed.
_FAILED = 1e9

# What lines that are none raise: RecursionError is of too many brackets.
_FAULTS = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError),
    *(RecursionError, TunesmithError),
)


@dataclass(frozen=True)
class _Trial:
    """A line of the file of records: the number of its function, and what was tried.

    ``note`` are the records that a trace of ours was made of, the last one with its time; then
    there is also the ``trace``. Without ``seconds`` it was not measured.
    """

    function: int
    seconds: tuple[float, ...] | None
    target: Mapping[str, Any]
    sketch: str
    config: Config
    note: tuple[Record, ...] = ()
    trace: Sequence[Any] = ()


def is_database(path: Path) -> bool:
    """Whether it is a folder with a database, or one of its two files."""
    if path.name in (WORKLOADS, RECORDS):
        return True
    return any((path / name).is_file() for name in (WORKLOADS, RECORDS))


def read(path: Path) -> Iterator[Record]:
    """The records of a database: a folder, or a file in it. A warning says what is left out.

    Raises ``OSError``, and ``StoreError`` for a database that lacks a file, and for a line that is
    none of it.
    """
    folder = path.parent if path.name in (WORKLOADS, RECORDS) else path
    for name in (WORKLOADS, RECORDS):
        if not (folder / name).is_file():
            raise StoreError(f"{folder} has no {name}: a database of MetaSchedule is two files")
    functions = list(_lines(folder / WORKLOADS, _function))
    sketches: dict[str, Sequence[Any]] = {}
    trials = list(_lines(folder / RECORDS, lambda line: _trial(line, len(functions), sketches)))
    questions: dict[int, Question] = {}
    for number, trial in enumerate(trials):
        question = questions.setdefault(trial.function, Question(functions[trial.function]))
        if trial.note:
            question.traces.append((number, trial.trace))
        else:
            question.others = True
    sessions = _Sessions(folder, trials, sketches)
    yield from _records(folder, trials, dict(look_at(questions)), sessions)


def _records(
    folder: Path, trials: Sequence[_Trial], found: Mapping[int, Found], sessions: _Sessions
) -> Iterator[Record]:
    """The records of trials; the same ones, of several functions of a task, only once."""
    left_out: Counter[str] = Counter()
    seen: set[tuple[Any, ...]] = set()
    for number, trial in enumerate(trials):
        try:
            records = _records_of(trial, found[trial.function], number, sessions)
        except UsageError as reason:
            left_out[str(reason)] += 1
            continue
        for record in records:
            times = record.play_off, record.measurement.run_seconds
            key = record.session.uid, record.sketch, record.config.key, *times
            if key not in seen:
                seen.add(key)
                yield record
    for why, count in left_out.most_common():
        _LOGGER.warning("tunesmith: %s: %d trials are left out: %s", folder, count, why)


def _records_of(trial: _Trial, found: Found, number: int, sessions: _Sessions) -> Sequence[Record]:
    """What is known of a trial. Raises ``UsageError`` where it is nothing: that is the reason."""
    if trial.note:
        same = trial.note[-1].measurement.run_seconds == trial.seconds
        if number in found.kept and same:
            return trial.note
        raise UsageError("a note of Tunesmith in the trace does not fit program or time")
    if found.operator is None:
        raise UsageError(found.refused)
    if trial.seconds is None:
        raise UsageError("it was not measured")
    failed = any(seconds >= _FAILED for seconds in trial.seconds)
    measurement = Measurement(
        trial.config,
        Outcome.UNKNOWN_ERROR if failed else Outcome.NO_ERROR,
        () if failed else trial.seconds,
        message="MetaSchedule does not say why" if failed else "",
        sketch=trial.sketch,
    )
    session = sessions.of(trial, found.operator)
    return [Record(session.by(trial.sketch, 0), measurement, session.started)]


# -- files -----------------------------------------------------------------------------------------


def _lines(path: Path, parse: Callable[[Any], Any]) -> Iterator[Any]:
    """What the lines of a file are. Raises ``OSError``, and ``StoreError`` for a line that is none.

    A number that no float can hold is infinite.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield parse(json.loads(line))
            except _FAULTS as fault:
                raise StoreError(
                    f"line {number} of {path} is none of a database of MetaSchedule, or was cut off"
                ) from fault


def _function(line: Any) -> Any:
    """A line of the file of functions: a hash, and the function as text."""
    digest, text = line
    if not isinstance(digest, str) or not isinstance(text, str):
        raise ValueError("a function is two texts")
    return line


def _trial(line: Any, functions: int, sketches: dict[str, Sequence[Any]]) -> _Trial:
    """A line of the file of records. Its sketch is added to ``sketches``: most are of a few."""
    number, (trace, seconds, target, _) = line
    if not isinstance(number, int) or not 0 <= number < functions:
        raise ValueError("there is no such function")
    times = None if seconds is None else tuple(float(each) for each in seconds)
    described = dict(target or {})
    parts, note = sketched(trace), note_in(trace[0])
    if note:
        return _Trial(number, times, described, parts.sketch, parts.config, note, trace)
    sketches.setdefault(parts.sketch, parts.instructions)
    return _Trial(number, times, described, parts.sketch, parts.config)


# -- sessions --------------------------------------------------------------------------------------


class _Sessions:
    """The sessions of a database: one for each function and target.

    They are the same ones when the database is read again, even if it has grown since: its first
    record tells it from others.
    """

    def __init__(
        self, folder: Path, trials: Sequence[_Trial], sketches: Mapping[str, Sequence[Any]]
    ) -> None:
        self._trials, self._sketches = trials, sketches
        self._changed = datetime.fromtimestamp((folder / RECORDS).stat().st_mtime, UTC)
        with (folder / RECORDS).open("rb") as file:
            self._digest = hashlib.sha256(file.readline()).hexdigest()
        self._known: dict[tuple[int, str], Session] = {}

    def of(self, trial: _Trial, operator: Mapping[str, Any]) -> Session:
        """That of a trial. Raises ``UsageError`` for a target that is not known here."""
        target = json.dumps(trial.target, sort_keys=True)
        key = trial.function, target
        if key not in self._known:
            task = Task(operator_from_json(operator), _target(target))
            self._known[key] = self._session(trial, task, target)
        return self._known[key]

    def _session(self, trial: _Trial, task: Task, target: str) -> Session:
        uid = hashlib.sha256(f"{self._digest} {trial.function} {target}".encode()).hexdigest()[:32]
        words = _words(trial.target)
        machine = {"fingerprint": hashlib.sha256(target.encode()).hexdigest()[:16], "cpu": words}
        device = {"device": words} if task.target.kind == "cuda" else {}
        of_function = (it for it in self._trials if it.function == trial.function and not it.note)
        sketches = dict.fromkeys(it.sketch for it in of_function)
        return Session(
            uid=uid,
            task_key=task.key,
            description={
                "operator": task.operator.to_json(),
                "target": dict(trial.target),
                "sketches": [
                    {"name": name, "version": 0, "instructions": list(self._sketches[name])}
                    for name in sketches
                ],
            },
            sketch=trial.sketch,
            sketch_version=0,
            target=dict(trial.target),
            machine={**machine, **device},
            versions={},
            tuner="metaschedule",
            tuner_settings={},
            seed=0,
            budget={},
            started=self._changed,
            stopped="imported",
        )


def _words(target: Mapping[str, Any]) -> str:
    """A target in short: ``llvm znver4, 2 cores``, ``cuda sm_90``."""
    names = [str(target[name]) for name in ("kind", "mcpu", "arch") if target.get(name)]
    cores = target.get("num-cores")
    return " ".join(names) + (f", {cores} cores" if cores else "")


@cache
def _target(described: str) -> Target:
    """That of a record. This machine's processor and cores are not named, as in tasks of ours."""
    target = Target.from_json(json.loads(described))
    if target.kind == "cuda":
        return target
    mcpu = None if target.mcpu == llvm.host_processor() else target.mcpu
    cores = None if target.cores == Target().core_count else target.cores
    return Target("cpu", mcpu=mcpu, cores=cores)
