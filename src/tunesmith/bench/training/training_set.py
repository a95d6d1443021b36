"""``tunesmith bench training-set``: the records of a store as a small file, to train models on.

A file has the trials of one machine: for each task and sketch its configs, as lists of values, with
their seconds, null for a failed trial. Of a config that was measured again in a play-off that time
counts.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.operators import Operator, parse_operator
from tunesmith.space import Config
from tunesmith.store import Record, Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.whole_file import write_whole

Array = npt.NDArray[np.float64]

FORMAT = "tunesmith-training-set"
VERSION = 1

# Significant digits of seconds: trials repeat to one percent.
_DIGITS = 4


@dataclass(frozen=True)
class Series:
    """The trials of a task with a sketch. ``seconds``, shape (configs,), are NaN for failures."""

    task: Task
    sketch: str
    sketch_version: int
    configs: Sequence[Config]
    seconds: Array


@dataclass(frozen=True)
class TrainingSet:
    """All series of a machine; ``machine`` is that of ``this_machine``, ``versions`` by package."""

    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    series: Sequence[Series]

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return sum(len(each.configs) for each in self.series)


def write_training_set(store: Store, path: Path) -> int:
    """Write the trials that this machine made of the tasks of a store. Returns how many there are.

    Raises ``UsageError`` for a store without any.
    """
    tasks = []
    last: Record | None = None
    trials = 0
    for summary in store.tasks():
        if not _is_known(summary.description):
            continue
        series: dict[tuple[str, int], dict[Config, float]] = {}
        play_offs = store.records(summary.key, play_off=True)
        for record in chain(store.records(summary.key), play_offs):
            known = series.setdefault((record.sketch, record.sketch_version), {})
            measurement = record.measurement
            known[record.config] = measurement.seconds if measurement.valid else math.nan
            last = record
        trials += sum(map(len, series.values()))
        tasks.append(_task(summary.description, series))
    if last is None:
        raise UsageError(f"{store.name} has no trials of tasks by this machine: tune some first")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "machine": dict(last.machine),
        "versions": dict(last.versions),
        "tasks": tasks,
    }
    text = json.dumps(content, separators=(",", ":"))
    write_whole(path, gzip.compress(text.encode(), 9, mtime=0))
    return trials


def read_training_set(path: Path) -> TrainingSet:
    """The inverse of ``write_training_set``.

    Raises ``UsageError`` for a file that is none, or of another version, and for an operator that
    does not exist any more.
    """
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
        is_ours = content["format"] == FORMAT
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no training set: {error}") from error
    if not is_ours or content.get("version") != VERSION:
        raise UsageError(f"{path} is no training set of version {VERSION}: make it again")
    series = [each for task in content["tasks"] for each in _series(task)]
    return TrainingSet(content["machine"], content["versions"], series)


def _is_known(description: Mapping[str, Any]) -> bool:
    """Whether a task can be made of what a run says: functions and commands are none, and operators
    of other versions may have other options."""
    try:
        _operator(description)
    except (KeyError, TunesmithError):
        return False
    return True


def _operator(described: Mapping[str, Any]) -> Operator:
    return parse_operator(described["operator"]["operator"], described["operator"]["options"])


def _task(
    description: Mapping[str, Any], series: Mapping[tuple[str, int], Mapping[Config, float]]
) -> dict[str, Any]:
    return {
        "operator": description["operator"],
        "target": description["target"],
        "sketches": [
            {"name": name, "version": version, **_columns(trials)}
            for (name, version), trials in series.items()
        ],
    }


def _columns(trials: Mapping[Config, float]) -> dict[str, Any]:
    names = list(next(iter(trials)))
    return {
        "parameters": names,
        "configs": [[values[name] for name in names] for values in map(Config.to_json, trials)],
        "seconds": [_rounded(seconds) for seconds in trials.values()],
    }


def _rounded(seconds: float) -> float | None:
    return None if math.isnan(seconds) else float(f"{seconds:.{_DIGITS}g}")


def _series(task: Mapping[str, Any]) -> Iterator[Series]:
    operator = _operator(task)
    made = task["target"]
    if made["kind"] == "cuda":
        target = Target(kind="cuda", arch=made["arch"])
    else:
        target = Target(mcpu=made["mcpu"], cores=made["num-cores"])
    for sketch in task["sketches"]:
        yield Series(
            Task(operator, target),
            sketch["name"],
            sketch["version"],
            [_config(sketch["parameters"], values) for values in sketch["configs"]],
            np.array([math.nan if s is None else s for s in sketch["seconds"]], dtype=np.float64),
        )


def _config(names: Iterable[str], values: Iterable[Any]) -> Config:
    return Config.from_json(dict(zip(names, values, strict=True)))
