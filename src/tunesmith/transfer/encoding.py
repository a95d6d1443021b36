"""Numbers that say what a task and its configs are like, the same for all tasks.

A value has a column by its name: of the operator's options, of the target, of the config's
parameters. So models can compare what different tasks have in common; what a task does not have is
NaN there. They need no program, so thousands of configs take milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.features.estimate_parts import PARTS
from tunesmith.operators import Operator
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Values = Mapping[str, float]

Estimates = tuple[Array, Array]
"""Seconds, shape (configs,), and the numbers of ``Parts``, shape (configs, parts); or NaN."""

ESTIMATE = "estimate.seconds"
RATE = "estimate.flops_per_second"

_PART_NAMES = tuple(f"estimate.{name}" for name in PARTS)

# What reaches a column is a logarithm, like that of the estimate.
_OPERATIONS = "operator.flops"


class Encoding:
    """The columns of models, by name. Names that are not among them are left out."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._columns = {name: number for number, name in enumerate(self.names)}

    @classmethod
    def of(cls, tasks: Iterable[tuple[Task, str, Sequence[Config]]]) -> Encoding:
        """The columns of tasks, each with a sketch and configs."""
        names = {ESTIMATE, RATE, *_PART_NAMES}
        for task, sketch, configs in tasks:
            names.update(task_values(task, sketch))
            for column in _columns(configs):
                for value in set(column.values):
                    names.update(_numbers(column.name, value))
        return cls(sorted(names))

    def rows(
        self, task: Task, sketch: str, configs: Sequence[Config], estimates: Estimates | None
    ) -> Floats:
        """The rows of configs, shape (configs, columns)."""
        rows = np.full((len(configs), len(self.names)), np.nan, dtype=np.float32)
        for name, number in task_values(task, sketch).items():
            self._set(rows, name, number)
        if estimates is not None and len(configs):
            seconds, parts = estimates
            logs = logs_of(seconds)
            for name, numbers in zip(_PART_NAMES, parts.T, strict=True):
                self._set(rows, name, numbers)
            self._set(rows, ESTIMATE, logs)
            self._set(rows, RATE, math.log2(max(1, task.operator.flops)) - logs)
        for column in _columns(configs):
            self._encode(rows, column)
        return rows

    def _encode(self, rows: Floats, column: _Column) -> None:
        """Set what a parameter says, each of its values once."""
        places: dict[object, int] = {}
        numbers = np.array([places.setdefault(value, len(places)) for value in column.values])
        known = [_numbers(column.name, value) for value in places]
        for name in {name for each in known for name in each} & self._columns.keys():
            of_values = np.array([each.get(name, math.nan) for each in known])
            self._set(rows, name, of_values[numbers])

    def _set(self, rows: Floats, name: str, values: Array | float) -> None:
        place = self._columns.get(name)
        if place is not None:
            # What cannot run is estimated to take forever: trees know missing numbers only.
            rows[:, place] = np.where(np.isfinite(values), values, math.nan)


def logs_of(seconds: Array) -> Array:
    """Logarithms to base 2; NaN for what is no time, infinite for what cannot run."""
    logs: Array = np.log2(np.where(seconds > 0.0, seconds, math.nan))
    return logs


def task_values(task: Task, sketch: str) -> Values:
    """The numbers of a task and the sketch that schedules it."""
    operator = task.operator
    values = {
        f"operator={operator.name}": 1.0,
        f"sketch={sketch}": 1.0,
        _OPERATIONS: math.log2(max(1, operator.flops)),
        **_target_values(task.target),
    }
    for name, value in _options(operator):
        values.update(_numbers(f"operator.{name}", value))
    return values


def _target_values(target: Target) -> Values:
    if target.kind != "cpu":
        return {f"target={target.kind}": 1.0}
    return {
        "target.lanes": float(target.lanes("float32")),
        "target.cores": float(target.core_count),
    }


def _options(operator: Operator) -> Iterator[tuple[str, object]]:
    """The options of an operator; texts of sizes, such as 3x3, as tuples."""
    for name, value in operator.to_json()["options"].items():
        if isinstance(value, str) and all(part.isdigit() for part in value.split("x")):
            yield name, tuple(int(part) for part in value.split("x"))
        elif isinstance(value, list):
            yield name, tuple(value)
        else:
            yield name, value


class _Column:
    """The values of one parameter."""

    def __init__(self, name: str, values: Sequence[object]) -> None:
        self.name = f"config.{name}"
        self.values = values


def _columns(configs: Sequence[Config]) -> Iterator[_Column]:
    for name in configs[0] if configs else ():
        yield _Column(name, [config[name] for config in configs])


def _numbers(name: str, value: object) -> Values:
    """The numbers of a value, by the names of their columns.

    Sizes are logarithms, each part of a tuple has its own column, the items of an order have their
    places, and each word has a column that is 1.
    """
    if isinstance(value, bool):
        return {name: float(value)}
    if isinstance(value, int | float):
        return {name: math.copysign(math.log2(abs(value) + 1.0), value)}
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return {f"{name}.{item}": float(place) for place, item in enumerate(value)}
    if isinstance(value, tuple):
        return {
            f"{name}.{place}": math.log2(abs(each) + 1.0)
            for place, each in enumerate(value)
            if isinstance(each, int | float)
        }
    return {f"{name}={value}": 1.0}
