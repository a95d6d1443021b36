"""The model that ships: it is of the sketches as they are, and needs no XGBoost."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tunesmith.measure.task.portfolio import problems_of
from tunesmith.operators import conv2d, matmul
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.shipped import FOLDER, shipped_model

CPU = Target(mcpu="znver4", cores=2)
GPU = Target(kind="cuda", arch="sm_90")


def test_it_is_small() -> None:
    paths = sorted(FOLDER.glob("*.json.gz"))
    assert [path.name for path in paths] == ["cpu.json.gz", "cuda.json.gz"]
    assert sum(path.stat().st_size for path in paths) < 1_000_000


def test_it_knows_the_sketches_of_convolutions_and_products_as_they_are() -> None:
    model = shipped_model(CPU)
    assert model is not None
    for operator in (
        conv2d(ci=64, h=14, w=14, co=64, kernel=3, padding=1, constant_weights=True),
        matmul(m=64, n=64, k=64),
    ):
        for problem in problems_of(Task(operator, CPU)):
            assert model.knows(problem), f"train it again: {problem.sketch.name}"


def test_it_works_without_xgboost(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    model = shipped_model(CPU)
    assert model is not None
    (problem, *_) = problems_of(Task(matmul(m=64, n=64, k=64), CPU))
    configs = problem.space.sample_many(20, np.random.default_rng(0))
    seconds = model.seconds(problem, configs)
    assert np.isfinite(seconds).all()
    assert not np.allclose(seconds, problem.estimates(configs))


def test_it_says_how_good_it_is_on_networks_that_it_has_not_seen() -> None:
    model = shipped_model(CPU)
    assert model is not None
    figures = model.origin["held_out"]
    estimates, networks = figures["estimates"], figures["networks"]
    assert networks["tasks"] == estimates["tasks"]
    assert networks["correlation"] > estimates["correlation"]
    assert networks["found"]["1"] > estimates["found"]["1"], "what a first build gets"
    assert networks["found"]["5"] >= 0.9
    assert networks["found_tenth"]["5"] > estimates["found_tenth"]["5"]
    assert len(model.origin["networks"]) >= 8
    assert model.tasks >= 40


def test_that_for_gpus_knows_the_sketches_that_schedule_networks() -> None:
    model = shipped_model(GPU)
    assert model is not None
    for dtype in ("float32", "float16"):
        operator = conv2d(ci=64, h=14, w=14, co=64, kernel=3, padding=1, dtype=dtype)
        for problem in problems_of(Task(operator, GPU)):
            assert model.knows(problem), f"train it again: {problem.sketch.name}"
            configs = problem.space.sample_many(20, np.random.default_rng(0))
            estimates, seconds = problem.estimates(configs), model.seconds(problem, configs)
            possible = np.isfinite(estimates)
            assert (np.isfinite(seconds) == possible).all()
            assert not np.allclose(seconds[possible], estimates[possible])
