"""What a run returns."""

from __future__ import annotations

import json
import math

import pytest

from tests.scripted import Scripted, config
from tunesmith.budget import Stop
from tunesmith.errors import UsageError
from tunesmith.measure.function import FunctionProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.tuning.result import Found, Result

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
    )


def test_a_find_has_the_median_and_the_speed() -> None:
    found = Found(Scripted(flops=1e9), MEASURED)
    assert (found.config, found.seconds) == (config(3), 0.2)
    assert found.gflops == pytest.approx(5.0)


def test_without_operations_there_is_no_speed() -> None:
    assert Found(Scripted(flops=None), MEASURED).gflops is None


def test_only_a_task_has_kernels() -> None:
    problem = FunctionProblem(Scripted().space, lambda config: 1.0)
    with pytest.raises(UsageError, match="only a task has kernels to compile"):
        Found(problem, MEASURED).compile()


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
