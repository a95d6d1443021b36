"""The problem of an experiment: a workload and one sketch, searched from nothing.

The papers' tuners know nothing of the machine, so runs begin neither with the sketch's default nor
with what its model likes: all that a run finds its tuner has found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tunesmith.bench.compare.problems import MeasuredProblem
from tunesmith.errors import SpaceError
from tunesmith.operators import Operator
from tunesmith.problem import BaseProblem
from tunesmith.space import Config, Space

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.problem import Measurer, MeasureSettings
    from tunesmith.task import Task
    from tunesmith.tuners import View

    Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WithoutDefault(BaseProblem):
    """A task with one sketch, whose default is not tried before the tuner's own configs."""

    problem: TaskProblem

    default: ClassVar[Config | None] = None

    @property
    def space(self) -> Space:
        return self.problem.space

    @property
    def key(self) -> str:
        return self.problem.key

    @property
    def flops(self) -> float | None:
        return self.problem.flops

    @property
    def finalists(self) -> int:
        return self.problem.finalists

    def describe(self) -> Mapping[str, Any]:
        return self.problem.describe()

    def measurer(self, settings: MeasureSettings) -> Measurer:
        return self.problem.measurer(settings)

    def features(self, configs: Sequence[Config], kind: str) -> Array | None:
        return self.problem.features(configs, kind)


@dataclass(frozen=True)
class SearchProblem(MeasuredProblem):
    """An operator with one sketch. A run has so many trials that it visits ``space_share`` of the
    space, unless that is None."""

    operator: Operator
    sketch: str
    space_share: float | None = None

    @cached_property
    def task(self) -> Task:
        """Its task on this machine's CPU."""
        from tunesmith.target import Target
        from tunesmith.task import Task

        return Task(self.operator, Target())

    @cached_property
    def tuned(self) -> WithoutDefault:
        """What its runs tune. Raises ``UsageError`` for a sketch that does not fit the operator."""
        from tunesmith.measure.task.problem import TaskProblem

        return WithoutDefault(TaskProblem.of(self.task, self.sketch))

    @property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before were on another problem."""
        return {**super().identity, "sketch": self.tuned.describe()["sketch"]}

    @property
    def trials(self) -> int | None:
        size = self.size
        if self.space_share is None or size is None:
            return None
        return max(1, math.ceil(self.space_share * size))

    @cached_property
    def size(self) -> int | None:
        """How many configs there are; None where they are too many to count."""
        try:
            return self.tuned.space.size
        except SpaceError:
            return None

    def views(self) -> list[View]:
        """What a tuner is shown."""
        from tunesmith.tuners import View

        return [View(self.tuned.space, features=self.tuned.features)]
