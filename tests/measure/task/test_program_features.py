"""Features of programs, made in other processes."""

from __future__ import annotations

import os
import signal
from typing import Any, ClassVar

import numpy as np
import pytest

from tunesmith.compiler.loop_nest import loop_nest
from tunesmith.compiler.passes.pipelines import plain_loops
from tunesmith.errors import InstantiationError
from tunesmith.features.program import PROGRAM_FEATURES, program_features
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.program_features import ProgramFeatureCache
from tunesmith.operators import Operator, matmul
from tunesmith.sketches import sketch_for
from tunesmith.space import Config, Ordinal, Space
from tunesmith.target import Target
from tunesmith.task import Task

TASK = Task(matmul(m=64, n=64, k=64), Target(cores=1))


@pytest.mark.parametrize("kind", list(PROGRAM_FEATURES))
def test_they_are_those_of_the_program(kind: Any) -> None:
    for problem in problems_of(TASK):
        configs = problem.space.sample_many(3, np.random.default_rng(0))
        found = problem.features(configs, kind)
        assert found is not None
        expected = [
            program_features(
                loop_nest(plain_loops(problem.program(config))["main"]), estimate, parts
            )[kind]
            for config, estimate, parts in zip(
                configs, *problem.estimates_with_parts(configs), strict=True
            )
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_task_has_no_features_of_a_configuration() -> None:
    (problem, *_) = problems_of(TASK)
    assert problem.features([problem.default], "configuration") is None


class Faulty:
    """A product of which some configs have no program, or crash the process that makes it."""

    name: ClassVar[str] = "faulty"
    made: ClassVar[list[int]] = []

    def space(self) -> Space:
        return Space([Ordinal("n", tuple(range(40)))])

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return None

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        if config["n"] == 5:
            raise InstantiationError("five is too many")
        if config["n"] == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        sketch = sketch_for(operator, target, "cpu_tiled")
        return sketch.program(operator, target, sketch.default(operator, target))


def numbered(*numbers: int) -> list[Config]:
    return [Config.from_values({"n": number}) for number in numbers]


def test_faults_cost_their_config_alone() -> None:
    cache = ProgramFeatureCache(TASK.operator, TASK.target, Faulty())  # type: ignore[arg-type]
    found = cache.of(numbered(*range(20)), "context-relation")
    unknown = np.isnan(found).any(axis=1)
    assert np.flatnonzero(unknown).tolist() == [5, 7]
    assert np.isnan(found[unknown]).all()
    assert (found[~unknown] == found[0]).all(), "they are all the same program"


def test_a_program_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ProgramFeatureCache(TASK.operator, TASK.target, Faulty())  # type: ignore[arg-type]
    first = cache.of(numbered(1, 2, 5), "context-relation")
    asked: list[Any] = []

    def made(chunks: list[Any]) -> list[Any]:
        asked.extend(chunks)
        return []

    monkeypatch.setattr(cache, "_made", made)
    again = cache.of(numbered(5, 2, 1, 1), "context-relation")
    np.testing.assert_array_equal(again[:3], first[::-1])
    assert cache.of(numbered(1), "loop-context").shape[0] == 1
    assert not asked


def test_nothing_is_asked_for() -> None:
    cache = ProgramFeatureCache(TASK.operator, TASK.target, Faulty())  # type: ignore[arg-type]
    assert cache.of([], "context-relation").shape == (0, 207)
