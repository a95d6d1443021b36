"""A task with several of its sketches, among which tuning chooses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tunesmith.candidate import candidate, sketch_and_config
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.trial.job import Job
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.sketches import Sketch, sketches_for
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task


@dataclass(frozen=True)
class Portfolio:
    """The problems of one task with different sketches, measured by one measurer.

    What it calls configs are candidates, which say their sketch; see ``candidate``. ``default`` is
    that of the first problem.
    """

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
    def default(self) -> Config:
        first = self.problems[0]
        return candidate(first.sketch.name, first.default)

    @property
    def finalists(self) -> int:
        return self.problems[0].finalists

    def describe(self) -> Mapping[str, Any]:
        described = [dict(problem.describe()) for problem in self.problems]
        return {**described[0], "sketches": [each["sketch"] for each in described]}

    def measurer(self, settings: MeasureSettings, best: float = math.inf) -> LocalMeasurer:
        """A new measurer. ``best`` is the least seconds of a call known from before, if any."""
        return LocalMeasurer(self.job(settings), best)

    def job(self, settings: MeasureSettings) -> Job:
        """What a measuring server has to know."""
        sketches = AnyOf(tuple(problem.sketch for problem in self.problems))
        return Job(self.task.operator, sketches, self.task.target, settings)


@dataclass(frozen=True)
class AnyOf:
    """Several sketches as one that schedules candidates, each with the sketch that it names."""

    sketches: tuple[Sketch, ...]

    @property
    def name(self) -> str:
        return " or ".join(sketch.name for sketch in self.sketches)

    def supports(self, operator: Operator, target: Target) -> bool:
        return all(sketch.supports(operator, target) for sketch in self.sketches)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        name, plain = sketch_and_config(config)
        (sketch,) = (sketch for sketch in self.sketches if sketch.name == name)
        return sketch.program(operator, target, plain)


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
