"""A kernel without tuning: the favourite of the models, or the best of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tunesmith as ts
from tunesmith.errors import UsageError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.operators import matmul
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.testing.trials import measured
from tunesmith.transfer.shipped import shipped_model
from tunesmith.tuning.compile import choose

TASK = Task(matmul(m=48, n=64, k=32))


def test_what_was_never_tuned_computes_what_it_should(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = ts.compile(TASK, store=tmp_path / "t.db")
    (line,) = caplog.messages
    assert line.startswith(f"tunesmith: there is no store at {tmp_path / 't.db'}: what is compiled")
    assert not list(tmp_path.iterdir()), "none is created"
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(size, dtype=np.float32) for size in ((48, 32), (32, 64)))
    np.testing.assert_allclose(np.asarray(kernel(a, b)), a @ b, rtol=1e-3, atol=1e-4)


def test_the_best_of_a_store_is_taken(tmp_path: Path) -> None:
    problem = problems_of(TASK, ["cpu_gemm"])[0]
    configs = problem.space.sample_many(3, np.random.default_rng(0))
    with open_store(tmp_path / "t.db") as store:
        session = store.begin_session(
            problem.key,
            tuner="random",
            seed=0,
            description=problem.describe(),
            sketch="cpu_gemm",
            sketch_version=problem.sketch.version,
        )
        times = (3e-3, 1e-3, 2e-3)
        store.append(session, [measured(*it) for it in zip(configs, times, strict=True)])
        found = choose(problems_of(TASK), store)
        assert found.is_measured
        assert found.config == configs[1]
        assert ts.compile(TASK, store=store).config == configs[1]


def test_without_a_store_it_is_what_the_models_like() -> None:
    problems = problems_of(TASK)
    found = choose(problems, None)
    assert not found.is_measured
    assert found == choose(problems, None, transfer=shipped_model(TASK.target) or False)
    assert found.problem.space.contains(found.config)


def test_a_sketch_can_be_named(tmp_path: Path) -> None:
    kernel = ts.compile(TASK, sketch="cpu_tiled", store=tmp_path / "t.db", transfer=False)
    assert kernel.config is not None
    assert problems_of(TASK, ["cpu_tiled"])[0].space.contains(kernel.config)
    with pytest.raises(UsageError, match="unknown sketch 'cpu_tild'"):
        ts.compile(TASK, sketch="cpu_tild")


def test_only_tasks_can_be_compiled() -> None:
    nothing: Any = "conv2d"
    with pytest.raises(UsageError, match="a Task can be compiled, not 'conv2d'"):
        ts.compile(nothing)
