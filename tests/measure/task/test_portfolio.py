"""Several sketches of a task as one problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from tests.measure.local.faulty_sketch import FaultySketch, config
from tunesmith.errors import UsageError
from tunesmith.measure.task.portfolio import Portfolio, joined, problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Candidate, Outcome
from tunesmith.operators import matmul, softmax
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.task import Task

TASK = Task(matmul(m=16, n=16, k=16), Target(cores=1))


@dataclass(frozen=True)
class SecondSketch(FaultySketch):
    """The same under another name."""

    name: ClassVar[str] = "second"
    version: ClassVar[int] = 4


PORTFOLIO = Portfolio((TaskProblem(TASK, FaultySketch()), TaskProblem(TASK, SecondSketch())))


def test_it_is_what_its_problems_are() -> None:
    assert (PORTFOLIO.key, PORTFOLIO.flops) == (TASK.key, 2 * 16**3)
    assert PORTFOLIO.alternatives == PORTFOLIO.problems
    described = PORTFOLIO.describe()
    assert described["sketch"] == {"name": "faulty", "version": 1}
    assert described["sketches"] == [
        {"name": "faulty", "version": 1},
        {"name": "second", "version": 4},
    ]


def test_one_measurer_measures_candidates_of_all_sketches() -> None:
    wanted = [
        Candidate(config("none"), "faulty"),
        Candidate(config("none"), "second"),
        Candidate(config("instantiation_error"), "second"),
    ]
    with PORTFOLIO.measurer(MeasureSettings()) as measurer:
        measured = {it.candidate: it for it in measurer.play_off(wanted, rounds=2)}
    assert [measured[it].outcome for it in wanted] == [
        Outcome.NO_ERROR,
        Outcome.NO_ERROR,
        Outcome.INSTANTIATION_ERROR,
    ]


def test_a_task_has_a_problem_for_each_sketch_that_fits() -> None:
    problems = problems_of(TASK)
    assert problems[0] == TaskProblem.of(TASK)
    assert {it.sketch.name for it in problems} >= {"cpu_gemm", "cpu_tiled"}
    assert all(it.sketch.supports(TASK.operator, TASK.target) for it in problems)
    (alone,) = problems_of(TASK, ["cpu_tiled"])
    assert joined((alone,)) is alone
    assert joined(problems) == Portfolio(tuple(problems))
    with pytest.raises(UsageError, match="no sketch can schedule"):
        problems_of(Task(softmax(m=4, n=4)), without=["cpu_rows"])
