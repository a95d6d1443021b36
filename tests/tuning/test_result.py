"""What a run returns."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.reports.documents import read
from tests.scripted import Scripted, config
from tunesmith.budget import Stop
from tunesmith.errors import StoreError, UsageError
from tunesmith.measure.function import FunctionProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.tuning.result import Found, Result, check_finished

MEASURED = Measurement(config(3), Outcome.NO_ERROR, (0.2, 0.1, 0.4))
TIME = {"search": 0.1, "build": 0.2, "run": 0.3, "idle": 0.4, "total": 1.0}


def result(best: Found | None, default: Found | None = None) -> Result:
    return Result(
        problem=Scripted(),
        best=best,
        default=default,
        trials=5,
        outcomes={Outcome.NO_ERROR: 3, Outcome.RUN_TIMEOUT: 2},
        time=TIME,
        stopped=Stop.TRIALS,
        resumed=2,
        shared=1,
    )


def test_a_find_has_the_median_and_the_speed() -> None:
    found = Found(Scripted(flops=1e9), MEASURED)
    assert (found.config, found.seconds) == (config(3), 0.2)
    assert found.gflops == pytest.approx(5.0)


def test_without_operations_there_is_no_speed() -> None:
    assert Found(Scripted(flops=None), MEASURED).gflops is None


def test_a_run_that_did_not_finish() -> None:
    check_finished(result(None))
    with pytest.raises(KeyboardInterrupt):
        check_finished(replace(result(None), stopped=Stop.INTERRUPTED))
    with pytest.raises(StoreError, match=r"full; 'tunesmith import rest\.jsonl' adds the re"):
        check_finished(
            replace(result(None), failure="the disk is full", rescued=Path("rest.jsonl"))
        )


def test_only_a_task_has_kernels() -> None:
    problem = FunctionProblem(Scripted().space, lambda config: 1.0)
    with pytest.raises(UsageError, match="only a task has kernels to compile"):
        Found(problem, MEASURED).compile()


def test_own_trials_are_those_that_no_other_run_measured() -> None:
    assert result(None).own_trials == 2


def test_as_json() -> None:
    found = Found(Scripted(flops=1e9), MEASURED)
    written = json.loads(json.dumps(result(found, found).to_json()))
    assert written == {
        "task": "scripted",
        "target": {"kind": "script"},
        "trials": 5,
        "valid": 3,
        "repeated": 0,
        "outcomes": {"NO_ERROR": 3, "RUN_TIMEOUT": 2},
        "time": TIME,
        "default": {"seconds": 0.2, "gflops": 5.0, "config": {"n": 3}},
        "best": {"seconds": 0.2, "gflops": 5.0, "config": {"n": 3}},
        "stopped": "trials",
        "resumed": 2,
        "shared": 1,
    }


def test_as_json_with_nothing_found() -> None:
    nothing = Result(
        problem=FunctionProblem(Scripted().space, lambda config: math.nan, name="f"),
        best=None,
        default=None,
        trials=0,
        outcomes={},
        time=TIME,
        stopped=Stop.INTERRUPTED,
    )
    assert nothing.valid == 0
    written = json.loads(json.dumps(nothing.to_json()))
    assert (written["best"], written["default"], written["target"]) == (None, None, None)
    assert written["task"].startswith("function:f:")


def test_a_notebook_shows_it_as_a_small_table() -> None:
    slow = Measurement(config(0), Outcome.NO_ERROR, (0.4,))
    shown = result(Found(Scripted(), MEASURED), Found(Scripted(), slow))._repr_html_()
    page = read(shown)
    rows = {row.all("td")[0].text: row.all("td")[1].text for row in page.all("tr")}
    assert rows["best"].startswith("200 ms")
    assert rows["default"].startswith("400 ms")
    assert rows["gain"] == "2.00×"
    assert rows["trials"] == "5, 3 valid"
    assert rows["config"]
    assert len(shown) < 3000


def test_a_notebook_shows_why_nothing_was_found() -> None:
    assert "no valid config was found" in result(None)._repr_html_()
