"""The favourite of the models: the best that they find, and one that can be scheduled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tunesmith.errors import InstantiationError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.favourite import TRIED, estimated, favourite
from tunesmith.transfer.model import estimates_of
from tunesmith.transfer.shipped import shipped_model
from tunesmith.tuners.starts import diverse

CPU = Target(mcpu="znver4", cores=2)
PROBLEMS = problems_of(Task(matmul(m=96, n=96, k=96), CPU))


@pytest.mark.parametrize("model", [None, shipped_model(CPU)], ids=["estimates", "shipped model"])
def test_it_is_better_than_random_configs_by_what_it_goes_by(model: Any) -> None:
    problem, config = favourite(PROBLEMS, model)
    least = estimates_of(problem, model)([config])
    assert least is not None
    for each in PROBLEMS:
        others = each.space.sample_many(300, np.random.default_rng(5))
        estimates = estimates_of(each, model)(others)
        assert estimates is not None
        assert least[0] <= np.nanmin(estimates) * 1.001


def test_the_same_seed_finds_the_same() -> None:
    model = shipped_model(CPU)
    assert favourite(PROBLEMS, model, 3) == favourite(PROBLEMS, model, 3)


def test_what_cannot_be_scheduled_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    first = favourite(PROBLEMS, None)
    program = TaskProblem.program

    def refusing(self: TaskProblem, config: Any) -> Any:
        if (self, config) == first:
            raise InstantiationError("no")
        return program(self, config)

    monkeypatch.setattr(TaskProblem, "program", refusing)
    tried = sorted(
        (
            (start.estimate, problem, start.config)
            for problem, starts in estimated(PROBLEMS, None)
            for start in diverse(starts, TRIED)
        ),
        key=lambda each: each[0],
    )
    assert tried[0][1:] == first
    assert favourite(PROBLEMS, None) == tried[1][1:], "the next best, not the default"


def test_without_estimates_it_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskProblem, "estimate", lambda *_: None)
    assert favourite(PROBLEMS, None) == (PROBLEMS[0], PROBLEMS[0].default)
    assert [starts for _, starts in estimated(PROBLEMS, None)] == [[], []]
