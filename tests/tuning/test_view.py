"""What tuners may look at: a tuner from outside the package that uses estimates and features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from tests.scripted import Scripted, config, line, number
from tunesmith.budget import Budget
from tunesmith.errors import UsageError
from tunesmith.features import Coordinates
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.space import Config, Space
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners import Search, Tuner, View
from tunesmith.tuning.tune import tune

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ByEstimate(Tuner):
    """Proposes the configs of a small space by their estimates, and else at random."""

    name: ClassVar[str] = "by-estimate"

    def start(self, space: Space, seed: int) -> ByEstimateSearch:
        return self.start_on(View(space), seed)

    def start_on(self, view: View, seed: int) -> ByEstimateSearch:
        return ByEstimateSearch(view, seed)


class ByEstimateSearch(Search):
    def __init__(self, view: View, seed: int) -> None:
        super().__init__(view.space, seed)
        self.view = view
        configs = view.space.sample_many(100, self.rng)
        estimates = view.estimates(configs)
        self.left: list[Config] = []
        if estimates is not None:
            order = np.argsort(-estimates)  # the best last
            self.left = [configs[place] for place in order if math.isfinite(estimates[place])]

    def next_config(self) -> Config | None:
        while self.left:
            best = self.left.pop()
            if best not in self.seen:
                return best
        return self.fresh_config()


class TestByEstimate(TunerConformance):
    tuner = ByEstimate()


@dataclass
class Estimated(Scripted):
    """A script with a model that is right about the order, and knows programs of even ``n``."""

    asked: list[Config] = field(default_factory=list)

    def estimates(self, configs: Sequence[Config]) -> Array:
        self.asked += configs
        numbers = [number(one) for one in configs]
        return np.array([math.nan if n % 2 else 7.0 * n for n in numbers])

    def features(self, configs: Sequence[Config], kind: str) -> Array | None:
        if kind != "loop-context":
            return None
        return np.array([[float(number(one)), 1.0] for one in configs]).reshape(-1, 2)


def test_a_tuner_uses_the_estimates_of_its_problem() -> None:
    problem = Estimated(size=30)
    with open_store("sqlite://") as store:
        tune(problem, ByEstimate(), Budget(trials=15), store=store, prior=False)
    assert problem.log == [config(n) for n in range(2, 31, 2)]


def test_where_there_is_no_model_the_view_says_so() -> None:
    problem = Scripted(size=30)
    with open_store("sqlite://") as store:
        result = tune(problem, ByEstimate(), Budget(trials=30), store=store)
    assert result.trials == 30
    assert View(line(3)).estimates([config(1)]) is None


def test_features_are_the_problems_or_else_coordinates() -> None:
    problem = Estimated()
    view = View(problem.space, problem.estimates, problem.features)
    configs = [config(3), config(5)]
    np.testing.assert_array_equal(view.features(configs, "loop-context"), [[3, 1], [5, 1]])
    expected = Coordinates(problem.space).of_all(configs)
    np.testing.assert_array_equal(view.features(configs), expected)
    plain = View(problem.space)
    np.testing.assert_array_equal(plain.features(configs), expected)
    for each in (view, plain):
        with pytest.raises(UsageError, match="there are no context-relation features: the problem"):
            each.features(configs, "context-relation")


def test_estimates_of_a_task_are_those_of_its_sketch() -> None:
    problem = TaskProblem.of(Task(matmul(m=64, n=64, k=64), Target(cores=1)))
    configs = problem.space.sample_many(5, np.random.default_rng(0))
    estimates = problem.estimates(configs)
    assert estimates.shape == (5,)
    assert estimates.tolist() == [problem.estimate(one) for one in configs]
