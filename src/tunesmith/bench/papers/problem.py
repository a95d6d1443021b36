"""The problem of an experiment: a workload and one sketch, searched from nothing.

The papers' tuners know nothing of the machine, so runs begin neither with the sketch's default nor
with what its model likes: all that a run finds its tuner has found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.problems import MeasuredProblem
from tunesmith.errors import SpaceError
from tunesmith.features.program.vectors import without_estimates
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import Operator
from tunesmith.space import Config

if TYPE_CHECKING:
    from tunesmith.task import Task
    from tunesmith.tuners import View

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WithoutDefault(TaskProblem):
    """A task with one sketch of which nothing is known beforehand: there is no default, and what
    the sketch's model likes is not said, nor is it among the features."""

    default: ClassVar[None] = None  # type: ignore[assignment] # as problems may have none

    def estimates(self, configs: Sequence[Config]) -> None:  # type: ignore[override] # the same
        del configs

    def features(self, configs: Sequence[Config], kind: str) -> Array | None:
        found = super().features(configs, kind)
        return None if found is None else without_estimates(found, kind)


@dataclass(frozen=True)
class SearchProblem(MeasuredProblem):
    """An operator with one sketch. A run has so many trials that it visits ``space_share`` of the
    space, unless that is None. Tuners that transfer learn from the ``others`` beforehand."""

    operator: Operator
    sketch: str
    space_share: float | None = None
    others: tuple[SearchProblem, ...] = ()

    @cached_property
    def task(self) -> Task:
        """Its task on this machine's CPU."""
        from tunesmith.target import Target
        from tunesmith.task import Task

        return Task(self.operator, Target())

    @cached_property
    def tuned(self) -> WithoutDefault:
        """What its runs tune. Raises ``UsageError`` for a sketch that does not fit the operator."""
        return WithoutDefault.of(self.task, self.sketch)

    @property
    def sources(self) -> Sequence[SearchProblem]:
        return self.others

    @property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before were on another problem."""
        return {"task": self.task.key, "sketch": self.tuned.describe()["sketch"]}

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
