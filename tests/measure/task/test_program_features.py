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
from tunesmith.features.program import PROGRAM_FEATURES, loop_context, program_features
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.program_features import (
    LoopContextCache,
    ProgramFeatureCache,
    features_of_programs,
)
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
                loop_context(loop_nest(plain_loops(problem.program(config))["main"])),
                estimate,
                parts,
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


def test_equal_programs_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two configs as well as of two instances of a problem; the estimate is each config's."""
    read: list[Any] = []

    def plain(program: Any) -> Any:
        read.append(program)
        return plain_loops(program)

    monkeypatch.setattr("tunesmith.compiler.passes.pipelines.plain_loops", plain)
    cache = LoopContextCache(2)
    problem, *_ = problems_of(TASK)
    one, other, third = problem.space.sample_many(3, np.random.default_rng(0))
    first = cache.of(problem.program(one))
    assert cache.of(problem.program(one)) is first
    assert len(read) == 1
    expected = loop_context(loop_nest(plain_loops(problem.program(one))["main"]))
    np.testing.assert_array_equal(first.touched, expected.touched)
    for config in (other, third):
        cache.of(problem.program(config))
    assert cache.of(problem.program(one)) is not first, "there is no room for more than two"
    assert len(read) == 4


def test_configs_of_one_program_have_their_own_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Faulty, "estimate", lambda *given: 2.0 ** -given[-1]["n"])
    faulty: Any = Faulty()
    one, two = features_of_programs(TASK.operator, TASK.target, faulty, numbered(1, 2))
    assert one is not None and two is not None
    (differ,) = np.nonzero(one["context-relation"] != two["context-relation"])
    assert two["context-relation"][differ].tolist() == [-2.0]
