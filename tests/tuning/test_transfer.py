"""A run with a model of other tasks: it changes the starts, is on record, and can be off."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.transfer.made_up import SIZES, add_trials
from tunesmith.budget import Budget
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.of_store import saved_models
from tunesmith.transfer.shipped import shipped_model
from tunesmith.tuners import tuner
from tunesmith.tuning.branches import Branches
from tunesmith.tuning.tune import tune

TASK = Task(matmul(m=40, n=48, k=56))


def starts(problem: TaskProblem, model: Any) -> list[Any]:
    """Those that a run proposes before its tuner does: there are as many, and then the default."""
    branches = Branches(problem, tuner("random"), 0, model)
    branches.find_starts()
    proposed = [candidate.config for candidate in branches.propose(17)]
    assert proposed[-1] == problem.default
    return proposed[:-1]


@pytest.mark.parametrize("processor", ["haswell", "skylake-avx512"])
def test_the_starts_are_the_models(processor: str) -> None:
    task = Task(TASK.operator, Target(mcpu=processor, cores=8))
    model = shipped_model(task.target)
    assert model is not None
    problem = TaskProblem.of(task, "cpu_gemm")
    of_model, of_estimates = starts(problem, model), starts(problem, None)
    assert of_model != of_estimates
    seconds, without = model.seconds(problem, of_model), model.seconds(problem, of_estimates)
    assert seconds[0] == seconds.min() < without.min()
    assert seconds.mean() < without.mean()


@pytest.mark.parametrize("transfer", [True, False])
def test_a_run_says_what_it_had(transfer: bool, tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        budget = Budget(trials=3)
        result = tune(TASK, "random", budget, store=store, transfer=transfer, sketch="cpu_gemm")
        assert result.session is not None
        said = result.session.description["transfer"]
    model = shipped_model(TASK.target)
    assert model is not None
    assert said == (model.described if transfer else None)


def test_the_seconds_that_a_model_takes_are_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To train one takes seconds."""

    def slowly(*_: Any, **__: Any) -> None:
        time.sleep(0.3)

    monkeypatch.setattr("tunesmith.tuning.tune.model_for", slowly)
    with open_store(tmp_path / "t.db") as store:
        result = tune(TASK, "random", Budget(trials=1), store=store, sketch="cpu_gemm")
    assert result.time["search"] >= 0.3


def test_the_trials_of_a_store_teach_its_next_task(tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    with open_store(tmp_path / "t.db") as store:
        for size in SIZES:
            add_trials(store, size, target=Target())
        heard: list[str] = []
        budget = Budget(trials=6)
        result = tune(TASK, "autotvm", budget, store=store, sketch="cpu_gemm", tell=heard.append)
        assert result.session is not None
        said = result.session.description["transfer"]
        assert said["trials"] == 500
        assert heard[0].startswith("learning from 600 trials of")
        assert list(saved_models(store)) == [said["scope"]]
        assert result.best is not None
