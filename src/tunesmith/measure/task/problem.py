"""A task with one of its sketches, as a problem for tuners."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError
from tunesmith.features.estimate_parts import PARTS, noting
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.task.program_features import ProgramFeatureCache
from tunesmith.measure.trial.job import Job
from tunesmith.problem import MeasureSettings
from tunesmith.sketches import Sketch, sketch_for
from tunesmith.space import Config, Space
from tunesmith.task import Task

if TYPE_CHECKING:
    from tunesmith.kernel.kernel import Kernel


Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TaskProblem:
    """The configs of a sketch for a task.

    The sketch must support the task; ``of`` sees to it.
    """

    task: Task
    sketch: Sketch
    finalists: ClassVar[int] = 5

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without its space, which may be large and is found again."""
        return type(self), (self.task, self.sketch)

    @classmethod
    def of(cls, task: Task, sketch: str | None = None) -> Self:
        """The problem with the sketch of that name, by default the first that fits the task.

        Raises ``UsageError`` for an unknown sketch, or one that cannot schedule the task.
        """
        return cls(task, sketch_for(task.operator, task.target, sketch))

    @property
    def key(self) -> str:
        return self.task.key

    @cached_property
    def space(self) -> Space:
        return self.sketch.space(self.task.operator, self.task.target)

    @property
    def flops(self) -> float | None:
        return float(self.task.operator.flops)

    @cached_property
    def default(self) -> Config:
        return self.sketch.default(self.task.operator, self.task.target)

    @property
    def alternatives(self) -> Sequence[TaskProblem]:
        return (self,)

    def describe(self) -> Mapping[str, Any]:
        return {
            "operator": self.task.operator.to_json(),
            "target": self.task.target.to_json(),
            "sketch": {"name": self.sketch.name, "version": self.sketch.version},
        }

    def measurer(self, settings: MeasureSettings) -> LocalMeasurer:
        """A new measurer on this machine."""
        return LocalMeasurer(self.job(settings))

    def job(self, settings: MeasureSettings) -> Job:
        """What a measurer has to know."""
        return Job(self.task.operator, (self.sketch,), self.task.target, settings)

    def estimates(self, configs: Sequence[Config]) -> Array:
        found = (self.estimate(config) for config in configs)
        return np.array([math.nan if one is None else one for one in found])

    def estimates_with_parts(self, configs: Sequence[Config]) -> tuple[Array, Array]:
        """The estimates, shape (configs,), and the numbers of their ``Parts``, shape (configs,
        parts), NaN for those without an estimate."""
        seconds = np.full(len(configs), math.nan)
        numbers = np.full((len(configs), len(PARTS)), math.nan)
        for place, config in enumerate(configs):
            with noting() as parts:
                found = self.estimate(config)
            if found is not None:
                seconds[place], numbers[place] = found, parts.numbers()
        return seconds, numbers

    def features(self, configs: Sequence[Config], kind: str) -> Array | None:
        return None if kind == "configuration" else self._features.of(configs, kind)

    def features_cost(self, configs: Sequence[Config]) -> float:
        """The CPU seconds that making those features of configs took that are not of the
        configuration; 0 for configs of which they were not asked for."""
        return self._features.seconds_of(configs)

    @cached_property
    def _features(self) -> ProgramFeatureCache:
        return ProgramFeatureCache(self.task.operator, self.task.target, self.sketch)

    def estimate(self, config: Config) -> float | None:
        """About how many seconds a call takes, by the sketch's model; None: it has none."""
        return self.sketch.estimate(self.task.operator, self.task.target, config)

    def program(self, config: Config) -> Any:
        """The scheduled ``tvm.IRModule`` of a config.

        Raises ``InstantiationError`` where the config cannot be scheduled.
        """
        return self.sketch.program(self.task.operator, self.task.target, config)

    def cuda_source(self, config: Config) -> str:
        """The CUDA C++ of a config.

        Raises ``UsageError`` if the target is no GPU, ``InstantiationError`` where the config
        cannot be scheduled.
        """
        from tunesmith.cuda.lowering import cuda_source

        if self.task.target.kind != "cuda":
            raise UsageError(
                f"there is no CUDA code for {self.task.target.key}: give --target cuda"
            )
        return cuda_source(self.program(config), self.task.target.to_tvm())

    def kernel(self, config: Config) -> Kernel:
        """Build the kernel of a config in this process.

        Raises ``InstantiationError`` where the config cannot be scheduled, and ``TunesmithError``
        if the compiler fails.
        """
        from tunesmith.kernel.kernel import Kernel

        return Kernel.build(self.task.operator, self.task.target, self.program(config), config)
