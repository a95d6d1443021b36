"""A task with a sketch, as a problem."""

from __future__ import annotations

import pickle

import pytest

from tests.measure.local.faulty_sketch import FaultySketch, config
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import conv2d, matmul
from tunesmith.problem import MeasureSettings, Problem
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.trials import candidates

TASK = Task(matmul(m=16, n=16, k=16), Target(cores=1))


def test_it_is_what_its_task_and_sketch_are() -> None:
    problem: Problem = TaskProblem(TASK, FaultySketch())
    assert problem.key == TASK.key
    assert problem.flops == 2 * 16**3
    assert problem.default == config("none")
    assert problem.space.contains(config("segfault", 7))
    assert problem.describe() == {
        "operator": TASK.operator.to_json(),
        "target": TASK.target.to_json(),
        "sketch": {"name": "faulty", "version": 1},
    }


def test_the_sketch_may_be_left_open_or_named() -> None:
    task = Task(conv2d(ci=8, h=8, w=8, co=8, kernel=1))
    problem = TaskProblem.of(task)
    assert problem.sketch.supports(task.operator, task.target)
    assert TaskProblem.of(task, problem.sketch.name) == problem
    with pytest.raises(UsageError, match="unknown sketch 'no such'"):
        TaskProblem.of(task, "no such")


def test_it_can_be_pickled() -> None:
    problem = TaskProblem.of(Task(conv2d(ci=8, h=8, w=8, co=8, kernel=1)))
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.key == problem.key
    assert copy.space.size == problem.space.size


def test_its_measurer_measures_on_this_machine() -> None:
    problem = TaskProblem(TASK, FaultySketch())
    with problem.measurer(MeasureSettings()) as measurer:
        assert isinstance(measurer, LocalMeasurer)
        (measurement,) = measurer.play_off(candidates([config("none")]), rounds=1)
    assert measurement.valid


def test_programs() -> None:
    problem = TaskProblem(TASK, FaultySketch())
    assert "main" in {v.name_hint for v in problem.program(config("none")).get_global_vars()}
    with pytest.raises(InstantiationError):
        problem.program(config("instantiation_error"))
