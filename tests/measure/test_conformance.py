"""Our measurers keep the contract of measurers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar

import pytest

from tests.emulated import needs_compiler, one_gpu
from tests.measure.gpu import faulty_gpu_sketch
from tests.measure.gpu.faulty_gpu_sketch import FaultyGpuSketch
from tests.measure.local.faulty_sketch import FaultySketch, config
from tunesmith.errors import InstantiationError
from tunesmith.measure.function import FunctionProblem
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.problem import Measurer, MeasureSettings
from tunesmith.space import Config, Ordinal, Space
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.measurer import MeasurerConformance
from tunesmith.testing.trials import candidates


class TestLocalMeasurer(MeasurerConformance):
    healthy = candidates(config("none", number) for number in range(3))
    failing = candidates(
        config(fault)
        for fault in ("schedule_error", "python_error", "exit_in_build", "segfault", "wrong")
    )

    @classmethod
    def make_measurer(cls) -> Measurer:
        problem = TaskProblem(Task(matmul(m=16, n=16, k=16)), FaultySketch())
        return problem.measurer(MeasureSettings(build_timeout=30.0, run_timeout=30.0))


@needs_compiler
class TestLocalMeasurerOfGpus(MeasurerConformance):
    healthy = candidates(faulty_gpu_sketch.config("none", number) for number in range(3))
    failing = candidates(
        faulty_gpu_sketch.config(fault)
        for fault in ("instantiation", "no_such_function", "illegal_address", "wrong")
    )

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def gpu(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        with one_gpu(tmp_path_factory.mktemp("cache")):
            yield

    @classmethod
    def make_measurer(cls) -> Measurer:
        task = Task(matmul(m=16, n=16, k=16), Target("cuda"))
        problem = TaskProblem(task, FaultyGpuSketch())
        return problem.measurer(MeasureSettings(build_timeout=30.0, run_timeout=30.0))


class TestFunctionMeasurer(MeasurerConformance):
    space: ClassVar[Space] = Space([Ordinal("x", (-1, 0, 1, 2, 3))])
    healthy = candidates(Config({"x": x}) for x in (1, 2, 3))
    failing = candidates(Config({"x": x}) for x in (-1, 0))

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
