"""Samples of a task's programs, built and never run."""

from __future__ import annotations

import pytest

from tunesmith.cuda.compiler import has_nvcc
from tunesmith.errors import UsageError
from tunesmith.measure.task.building import Builds, build_sample
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measurement import Outcome
from tunesmith.operators import (
    Operator,
    batch_matmul,
    conv2d,
    elementwise,
    embedding,
    lstm,
    matmul,
    softmax,
)
from tunesmith.problem import MeasureSettings
from tunesmith.sketches import sketches
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task

GPU = Target("cuda", arch="sm_90")
LAYER = conv2d(ci=8, h=7, w=7, co=16, kernel=3, padding=1)
PRODUCT = matmul(m=32, n=32, k=32)
SETTINGS = MeasureSettings(verify=False, build_timeout=60.0)


def configs_of(builds: Builds) -> dict[str, list[Config]]:
    return {name: [one.config for one in results] for name, results in builds.results.items()}


# Small operators among which each sketch for GPUs finds one.
OPERATORS = (
    LAYER,
    PRODUCT,
    batch_matmul(b=2, m=16, n=16, k=16),
    softmax(m=4, n=64),
    elementwise(c=4, inner=64, post_ops="scale+add+relu"),
    embedding(n=4, rows=9, width=16),
    lstm(steps=2, units=16),
    matmul(m=64, n=64, k=64, dtype="bfloat16"),
    conv2d(ci=16, h=8, w=8, co=32, kernel=3, padding=1, dtype="float16"),
)


def sketches_of(operator: Operator) -> list[str]:
    """The sketches for GPUs that support it, those that have to be named too."""
    return [
        name
        for name, sketch in sketches().items()
        if name.startswith("cuda") and sketch.supports(operator, GPU)
    ]


def test_each_sketch_for_gpus_is_among_these() -> None:
    tried = {name for operator in OPERATORS for name in sketches_of(operator)}
    assert tried == {name for name in sketches() if name.startswith("cuda")}


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.key)
def test_programs_for_a_gpu_that_is_not_there(operator: Operator) -> None:
    names = sketches_of(operator)
    problems = problems_of(Task(operator, GPU), names)
    each = 2 if operator == PRODUCT else 1  # the first is the default
    seen: list[int] = []
    builds = build_sample(problems, each * len(names), settings=SETTINGS, progress=seen.append)
    assert seen == list(range(1, each * len(names) + 1))
    assert builds.task == f"{operator.key}@cuda(arch=sm_90)"
    assert builds.outcomes.keys() <= {Outcome.NO_ERROR, Outcome.INSTANTIATION_ERROR}
    configs = configs_of(builds)
    assert {name: len(built) for name, built in configs.items()} == dict.fromkeys(names, each)
    for problem in problems:
        (default,) = (
            one for one in builds.results[problem.sketch.name] if one.config == problem.default
        )
        assert default.built, default.message
        assert (default.resources is not None) == has_nvcc()
        if default.resources is not None:
            assert 0 < default.resources["registers"] <= 255
            assert 0 < default.resources["threads"] <= 1024
            assert 0 < default.resources["occupancy"] <= 1


def test_programs_for_another_processor() -> None:
    problems = problems_of(Task(PRODUCT, Target(mcpu="x86-64-v3", cores=2)), ["cpu_tiled"])
    builds = build_sample(problems, 4, seed=3, settings=SETTINGS)
    assert dict(builds.outcomes) == {Outcome.NO_ERROR: 4}
    assert len(set(configs_of(builds)["cpu_tiled"])) == 4
    again = build_sample(problems, 4, seed=3, settings=SETTINGS)
    assert set(configs_of(again)["cpu_tiled"]) == set(configs_of(builds)["cpu_tiled"])


def test_it_ends_in_time() -> None:
    problems = problems_of(Task(PRODUCT), ["cpu_tiled"])
    builds = build_sample(problems, 10_000, seconds=0.01, settings=SETTINGS)
    assert sum(builds.outcomes.values()) == 1, "one is built before the time is looked at"


def test_nothing_to_build() -> None:
    with pytest.raises(UsageError, match="cannot build 0 configs: give 1 or more"):
        build_sample(problems_of(Task(PRODUCT), ["cpu_tiled"]), 0)
