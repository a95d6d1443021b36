"""A run whose tuner's cost model cannot be had goes on without it, and says so."""

from __future__ import annotations

import logging
import sys

import pytest

from tests.scripted import Scripted
from tunesmith.budget import Budget, Stop
from tunesmith.errors import UsageError
from tunesmith.models.registry import MODELS
from tunesmith.store import open_store
from tunesmith.tuners import tuner
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.autotvm import AutoTVM
from tunesmith.tuners.random import Random
from tunesmith.tuning.missing_model import usable
from tunesmith.tuning.tune import tune


@pytest.mark.parametrize(
    ("model", "package", "install"),
    [
        ("boosted-trees", "xgboost", "pip install 'tunesmith[models]'"),
        ("tree-gru", "torch", "pip install 'tunesmith[neural]'"),
    ],
)
def test_the_search_goes_on_without_the_model(
    model: str,
    package: str,
    install: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    MODELS.get(model)  # whose module may be imported: it looks for the package later
    monkeypatch.setitem(sys.modules, package, None)
    with open_store("sqlite://") as store, caplog.at_level(logging.WARNING, "tunesmith"):
        result = tune(Scripted(), AutoTVM(model=model), Budget(trials=9), store=store)
    assert (result.stopped, result.trials, result.valid) == (Stop.TRIALS, 9, 9)
    assert result.session is not None
    assert result.session.tuner == "random"  # the records say who proposed them
    (line,) = [record.getMessage() for record in caplog.records]
    assert "\n" not in line
    assert line.startswith("tunesmith: tuner 'autotvm': ")
    assert install in line
    assert line.endswith(
        "the search goes on without the model: after good starts, configs are random"
    )


def test_what_can_be_had_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    for kept in (AutoTVM(model="knn"), Auto(), Random()):
        assert usable(kept) is kept
    assert caplog.records == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"model": "trees"}, "tuner 'autotvm': unknown cost model 'trees'"),
        ({"model": "knn", "objective": "rank"}, "cost model 'knn' has no choice of objectives"),
    ],
)
def test_a_model_that_does_not_exist(options: dict[str, str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        usable(tuner("autotvm", **options))
