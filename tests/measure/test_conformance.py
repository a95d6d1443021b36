"""Our measurers keep the contract of measurers."""

from __future__ import annotations

import time
from typing import ClassVar

from tests.measure.faulty_sketch import FaultySketch, config
from tunesmith.errors import InstantiationError
from tunesmith.measure import TaskProblem
from tunesmith.measure.inline import FunctionProblem
from tunesmith.operators import matmul
from tunesmith.problem import Measurer, MeasureSettings
from tunesmith.space import Config, Ordinal, Space
from tunesmith.task import Task
from tunesmith.testing.measurer import MeasurerConformance


class TestLocalMeasurer(MeasurerConformance):
    healthy = (config("none", 0), config("none", 1), config("none", 2))
    failing = (
        config("schedule_error"),
        config("python_error"),
        config("exit_in_build"),
        config("segfault"),
        config("wrong"),
    )

    @classmethod
    def make_measurer(cls) -> Measurer:
        problem = TaskProblem(Task(matmul(m=16, n=16, k=16)), FaultySketch())
        return problem.measurer(MeasureSettings(build_timeout=30.0, run_timeout=30.0))


class TestFunctionMeasurer(MeasurerConformance):
    space: ClassVar[Space] = Space([Ordinal("x", (-1, 0, 1, 2, 3))])
    healthy = (Config({"x": 1}), Config({"x": 2}), Config({"x": 3}))
    failing = (Config({"x": -1}), Config({"x": 0}))

    @classmethod
    def make_measurer(cls) -> Measurer:
        return FunctionProblem(cls.space, cost, name="cost").measurer(MeasureSettings())


def cost(config: Config) -> float:
    x = config["x"]
    assert isinstance(x, int)
    if x < 0:
        raise InstantiationError("x is negative")
    time.sleep(0.001)
    return 1.0 / x
