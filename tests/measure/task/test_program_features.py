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
from tunesmith.operators import (
    Operator,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    depthwise_conv2d,
    layer_norm,
    matmul,
    pool2d,
)
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


@pytest.mark.parametrize(
    "operator",
    [
        batch_matmul(b=3, m=20, n=24, k=28, transpose="NT"),
        conv2d(ci=32, h=14, w=14, co=32, kernel=1, layout="NHWC"),
        conv2d_transpose(ci=16, h=8, w=8, co=16, kernel=4, stride=2, padding=1),
        depthwise_conv2d(c=32, h=14, w=14, kernel=3, padding=1, stride=2),
        layer_norm(m=64, n=128),
        pool2d(c=16, h=16, w=16, kernel=2, stride=2),
    ],
    ids=lambda operator: operator.name,
)
@pytest.mark.parametrize(
    "target", [Target(cores=2), Target("cuda", arch="sm_90")], ids=lambda target: target.kind
)
def test_every_program_that_can_be_scheduled_has_finite_features(
    operator: Operator, target: Target
) -> None:
    for problem in problems_of(Task(operator, target)):
        configs = problem.space.sample_many(8, np.random.default_rng(1))
        task = problem.task
        made = features_of_programs(task.operator, task.target, problem.sketch, configs)
        for config, vectors in zip(configs, made, strict=True):
            if vectors is None:
                with pytest.raises(InstantiationError):
                    problem.program(config)
            else:
                assert all(np.isfinite(vector).all() for vector in vectors.values())


def test_faults_cost_their_config_alone(caplog: pytest.LogCaptureFixture) -> None:
    cache = ProgramFeatureCache(TASK.operator, TASK.target, Faulty())  # type: ignore[arg-type]
    found = cache.of(numbered(*range(20)), "context-relation")
    unknown = np.isnan(found).any(axis=1)
    assert np.flatnonzero(unknown).tolist() == [5, 7]
    assert np.isnan(found[unknown]).all()
    assert (found[~unknown] == found[0]).all(), "they are all the same program"
    (line,) = caplog.records
    assert "programs of sketch 'faulty' without features: " in line.getMessage()


def test_a_program_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ProgramFeatureCache(TASK.operator, TASK.target, Faulty())  # type: ignore[arg-type]
    first = cache.of(numbered(1, 2, 5), "context-relation")
    asked: list[Any] = []

    def made(chunks: list[Any]) -> dict[Any, str]:
        asked.extend(chunks)
        return {}

    monkeypatch.setattr(cache, "_made", made)
    again = cache.of(numbered(5, 2, 1, 1), "context-relation")
    np.testing.assert_array_equal(again[:3], first[::-1])
    assert cache.of(numbered(1), "loop-context").shape[0] == 1
    assert not asked


def test_what_making_them_took_is_known() -> None:
    cache = ProgramFeatureCache(TASK.operator, TASK.target, Faulty())  # type: ignore[arg-type]
    assert cache.seconds_of(numbered(1)) == 0.0
    cache.of(numbered(1, 2, 7), "context-relation")
    both = cache.seconds_of(numbered(1, 2))
    assert both > 0.0
    assert cache.seconds_of(numbered(1)) + cache.seconds_of(numbered(2)) == pytest.approx(both)
    assert cache.seconds_of(numbered(7)) == 0.0, "it crashed its process"


def test_nothing_is_asked_for() -> None:
    cache = ProgramFeatureCache(TASK.operator, TASK.target, Faulty())  # type: ignore[arg-type]
    assert cache.of([], "context-relation").shape == (0, 208)


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
