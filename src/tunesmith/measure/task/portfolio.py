"""A task with several of its sketches, among which tuning chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.trial.job import Job
from tunesmith.problem import MeasureSettings
from tunesmith.sketches import sketches_for
from tunesmith.task import Task


@dataclass(frozen=True)
class Portfolio:
    """The problems of one task with different sketches, measured by one measurer."""

    problems: tuple[TaskProblem, ...]

    @property
    def task(self) -> Task:
        return self.problems[0].task

    @property
    def key(self) -> str:
        return self.task.key

    @property
    def flops(self) -> float | None:
        return self.problems[0].flops

    @property
    def finalists(self) -> int:
        return self.problems[0].finalists

    @property
    def alternatives(self) -> Sequence[TaskProblem]:
        return self.problems

    def describe(self) -> Mapping[str, Any]:
        described = [dict(problem.describe()) for problem in self.problems]
        return {**described[0], "sketches": [each["sketch"] for each in described]}

    def measurer(self, settings: MeasureSettings) -> LocalMeasurer:
        """A new measurer on this machine."""
        return LocalMeasurer(self.job(settings))

    def job(self, settings: MeasureSettings) -> Job:
        """What a measurer has to know."""
        sketches = tuple(problem.sketch for problem in self.problems)
        return Job(self.task.operator, sketches, self.task.target, settings)


def problems_of(
    task: Task, sketches: Iterable[str] = (), without: Iterable[str] = ()
) -> tuple[TaskProblem, ...]:
    """The task with each of these sketches, by default all that can schedule it.

    Raises ``UsageError`` for an unknown sketch, a named one that cannot schedule the task, and
    where ``without`` leaves none.
    """
    chosen = sketches_for(task.operator, task.target, sketches, without)
    return tuple(TaskProblem(task, sketch) for sketch in chosen)


def joined(problems: tuple[TaskProblem, ...]) -> TaskProblem | Portfolio:
    """One problem of several with the same task; a single sketch needs no portfolio."""
    return problems[0] if len(problems) == 1 else Portfolio(problems)
