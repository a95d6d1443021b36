"""Training sets: the trials of many tasks by one machine, of a store or of a small file."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError, describe
from tunesmith.machine import machine_of
from tunesmith.operators import Operator, parse_operator
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.whole_file import write_whole

if TYPE_CHECKING:
    from tunesmith.measurement import Measurement
    from tunesmith.store import Record, Store, TaskSummary

Array = npt.NDArray[np.float64]

FORMAT = "tunesmith-training-set"
VERSION = 2

# Significant digits of seconds: trials repeat to one percent.
_DIGITS = 4


@dataclass(frozen=True)
class Series:
    """The trials of a task with a sketch. ``seconds``, shape (configs,), are NaN for failures.

    ``networks`` are those with a layer of this operator, as far as that is known, ``machine`` is
    the fingerprint of the one that measured.
    """

    task: Task
    sketch: str
    sketch_version: int
    configs: Sequence[Config]
    seconds: Array
    networks: frozenset[str] = frozenset()
    machine: str = ""

    @property
    def compared(self) -> tuple[Task, str]:
        """Whose seconds compare with these: those of the same task by the same machine."""
        return self.task, self.machine

    def at_most(self, count: int) -> Series:
        """So many of its trials, drawn at random, the same each time; all where it has no more."""
        if len(self.configs) <= count:
            return self
        kept = np.random.default_rng(0).choice(len(self.configs), count, replace=False)
        configs = [self.configs[place] for place in kept.tolist()]
        return replace(self, configs=configs, seconds=self.seconds[kept])


@dataclass(frozen=True)
class TrainingSet:
    """All series of a machine, or of all (see ``stored_set``).

    ``machine`` describes it, or that of the last trial, as ``this_machine`` does; ``versions`` are
    by package.
    """

    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    series: Sequence[Series]

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return sum(len(each.configs) for each in self.series)


def stored_set(
    store: Store,
    networks: Mapping[Operator, Collection[str]] | None = None,
    machine: str | None = None,
) -> TrainingSet:
    """The trials that a machine made of the tasks of a store: its fingerprint, None for this one.

    ``ANY_MACHINE`` means all machines; a task has series for each of them then, as their times do
    not compare. What is known of the ``machine`` is the last one then.
    Of a config that was measured again in a play-off that time counts. Functions and commands are
    no tasks, and operators of other versions may have other options: both are left out.
    ``networks`` are those of each operator. Raises ``UsageError`` for a store without trials.
    """
    series: list[Series] = []
    last: Record | None = None
    for summary in store.tasks(machine=machine):
        task = task_of(summary)
        if task is None:
            continue
        found: dict[tuple[str, str, int], dict[Config, float]] = {}
        by = machine or machine_of(summary.key)["fingerprint"]
        play_offs = store.records(summary.key, play_off=True, machine=by)
        for record in chain(store.records(summary.key, machine=by), play_offs):
            whose = str(record.session.machine.get("fingerprint"))
            known = found.setdefault((whose, record.sketch, record.sketch_version), {})
            known[record.config] = _seconds_of(record.measurement)
            last = record
        of_networks = frozenset((networks or {}).get(task.operator, ()))
        for (whose, sketch, version), trials in found.items():
            seconds = np.array([*trials.values()], dtype=np.float64)
            series.append(Series(task, sketch, version, [*trials], seconds, of_networks, whose))
    if last is None:
        raise UsageError(_nothing(store, machine))
    return TrainingSet(dict(last.machine), dict(last.versions), series)


def _nothing(store: Store, machine: str | None) -> str:
    """That a store has no trials by a machine, and what to do."""
    from tunesmith.store import ANY_MACHINE

    named = {None: "this machine", ANY_MACHINE: "any machine"}
    by = named.get(machine, f"machine {machine}")
    says = f"{store.name} has no trials of tasks by {by}"
    known = {
        session.machine["fingerprint"]: session.machine
        for summary in store.tasks(machine=ANY_MACHINE)
        for session in store.sessions(summary.key, machine=ANY_MACHINE)
    }
    if not known:
        return f"{says}: tune some first"
    others = ", ".join(
        f"{name} ({it.get('device') or it.get('cpu', '')})" for name, it in sorted(known.items())
    )
    return f"{says}, but by {others}: choose theirs, or tune some first"


def task_of(summary: TaskSummary) -> Task | None:
    """The task of a summary; None where it is none, or of another version."""
    try:
        described = summary.description
        return Task(_operator(described["operator"]), Target.from_json(described["target"]))
    except Exception:  # whatever the description of somebody's own problem leads to
        return None


def timed(seconds: Array) -> npt.NDArray[np.bool_]:
    """Which of these are times of a call: numbers above 0 that are finite."""
    return (seconds > 0.0) & (seconds < math.inf)


def write_training_set(found: TrainingSet, path: Path) -> None:
    """Write a set of one machine's trials as a file: compressed JSON, with the seconds to four
    digits. Raises ``OSError``."""
    tasks: dict[Task, list[Series]] = {}
    for each in found.series:
        tasks.setdefault(each.task, []).append(each)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "machine": dict(found.machine),
        "versions": dict(found.versions),
        "tasks": [_described(task, series) for task, series in tasks.items()],
    }
    text = json.dumps(content, separators=(",", ":"))
    write_whole(path, gzip.compress(text.encode(), 9, mtime=0))


def read_training_set(path: Path) -> TrainingSet:
    """The inverse of ``write_training_set``.

    Raises ``UsageError`` for a file that is none, of another version or damaged inside, and for an
    operator that does not exist any more.
    """
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
        is_ours = content["format"] == FORMAT and content.get("version") == VERSION
    except Exception as error:  # whatever a broken file leads to
        raise UsageError(f"{path} is no training set ({describe(error)}): make it again") from error
    if not is_ours:
        raise UsageError(f"{path} is no training set of version {VERSION}: make it again")
    try:
        machine = dict(content["machine"])
        by = str(machine.get("fingerprint", ""))
        series = [each for task in content["tasks"] for each in _series(task, by)]
        return TrainingSet(machine, dict(content["versions"]), series)
    except Exception as error:
        raise UsageError(
            f"{path} is a training set that cannot be read ({describe(error)}): make it again"
        ) from error


def _seconds_of(measurement: Measurement) -> float:
    """The seconds of a trial; NaN for one that failed, and for what is no time of a call, which
    somebody's own measurer may have stored."""
    try:
        seconds = float(measurement.seconds)
    except (TypeError, ValueError):  # such as that there is none
        return math.nan
    return seconds if 0.0 < seconds < math.inf else math.nan


def _operator(described: Mapping[str, Any]) -> Operator:
    return parse_operator(described["operator"], described["options"])


def _described(task: Task, series: Sequence[Series]) -> dict[str, Any]:
    return {
        "operator": task.operator.to_json(),
        "target": task.target.to_json(),
        "networks": sorted(series[0].networks),
        "sketches": [
            {"name": each.sketch, "version": each.sketch_version, **_columns(each)}
            for each in series
        ],
    }


def _columns(series: Series) -> dict[str, Any]:
    names = list(series.configs[0])
    configs = [[values[name] for name in names] for values in map(Config.to_json, series.configs)]
    seconds = [_rounded(seconds) for seconds in series.seconds.tolist()]
    return {"parameters": names, "configs": configs, "seconds": seconds}


def _rounded(seconds: float) -> float | None:
    return None if math.isnan(seconds) else float(f"{seconds:.{_DIGITS}g}")


def _series(described: Mapping[str, Any], machine: str) -> Iterator[Series]:
    task = Task(_operator(described["operator"]), Target.from_json(described["target"]))
    networks = frozenset(described["networks"])
    for sketch in described["sketches"]:
        configs = [_config(sketch["parameters"], values) for values in sketch["configs"]]
        found = [math.nan if each is None else float(each) for each in sketch["seconds"]]
        if len(found) != len(configs):
            raise ValueError(f"{len(configs)} configs have {len(found)} times")
        seconds = np.array(found, dtype=np.float64)
        seconds[~timed(seconds)] = math.nan
        name, version = str(sketch["name"]), int(sketch["version"])
        yield Series(task, name, version, configs, seconds, networks, machine)


def _config(names: Iterable[str], values: Iterable[Any]) -> Config:
    return Config.from_json(dict(zip(names, values, strict=True)))
