"""Series of tasks with made-up times, from which there is something to learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.space import Config
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.trials import failed, measured
from tunesmith.transfer.training_set import Series

SKETCH = "cpu_gemm"
TARGET = Target(mcpu="znver4", cores=2)


def task(size: int, target: Target = TARGET) -> Task:
    """A product of square matrices."""
    return Task(matmul(m=size, n=size, k=size), target)


def problem_of(size: int, target: Target = TARGET) -> TaskProblem:
    return TaskProblem.of(task(size, target), SKETCH)


def is_slow(config: Config) -> bool:
    """What the estimates do not know: whole copies of the left matrix take twice the time."""
    return config["pack_left"] == "whole"


def seconds_of(problem: TaskProblem, configs: Iterable[Config]) -> list[float]:
    listed = list(configs)
    estimates = problem.estimates(listed).tolist()
    return [
        estimate * (2.0 if is_slow(config) else 1.0)
        for config, estimate in zip(listed, estimates, strict=True)
    ]


def series(size: int, count: int = 120, seed: int = 0, network: str = "") -> Series:
    """Random trials of a product; the first one failed."""
    problem = problem_of(size)
    configs = problem.space.sample_many(count, np.random.default_rng(seed))
    seconds = np.array(seconds_of(problem, configs))
    seconds[0] = np.nan
    return Series(
        problem.task,
        SKETCH,
        problem.sketch.version,
        configs,
        seconds,
        frozenset({network} if network else ()),
    )


def add_trials(
    store: Store,
    size: int,
    count: int = 120,
    target: Target = TARGET,
    machine: Mapping[str, Any] | None = None,
) -> None:
    """The same in a store; by this machine, or another one."""
    problem = problem_of(size, target)
    session = store.begin_session(
        problem.key,
        tuner="random",
        seed=0,
        description=problem.describe(),
        target=target.to_json(),
        machine=machine,
        sketch=SKETCH,
        sketch_version=problem.sketch.version,
    )
    configs = problem.space.sample_many(count, np.random.default_rng(size))
    times = seconds_of(problem, configs)
    store.append(
        session,
        [failed(configs[0])]
        + [measured(config, time) for config, time in zip(configs[1:], times[1:], strict=True)],
    )


SIZES = (64, 96, 128, 160, 192)
