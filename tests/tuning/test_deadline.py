"""A run does not end with nothing for want of time; all other limits hold."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from tests.scripted import Scripted, config, failing_at, number
from tunesmith.budget import Budget, Stop
from tunesmith.errors import TunesmithError
from tunesmith.measure.function import FunctionProblem
from tunesmith.measurement import Outcome
from tunesmith.operators import matmul
from tunesmith.space import Ordinal, Space
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.tuning.deadline import LATE_TRIALS
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune

NO_TIME = Budget(seconds=1e-9)


def run(problem: Scripted, budget: Budget = NO_TIME) -> Result:
    return tune(problem, "grid", budget, store="sqlite://")


def valid_from(first: int) -> Callable[[int], float]:
    """Seconds of configs of which those before ``first`` fail."""
    return lambda n: float(n) if n >= first else math.inf


def test_the_default_is_measured_however_short_the_time() -> None:
    problem = Scripted(default=config(7), finalists=3)
    result = run(problem)
    assert result.stopped is Stop.SECONDS
    assert result.best is not None and result.best.config == config(7)
    assert result.default == result.best
    assert problem.log == [config(7)]
    assert problem.rounds == [], "there is nothing to compare it with"


def test_without_a_default_it_is_what_the_tuner_proposes_first() -> None:
    result = run(Scripted())
    assert (result.trials, result.valid, result.stopped) == (1, 1, Stop.SECONDS)


def test_what_was_begun_is_waited_for() -> None:
    problem = Scripted(seconds=valid_from(3), default=config(1), batch=4)
    result = run(problem)
    assert result.best is not None
    assert problem.log[0] == config(1)
    assert result.valid == 1, "the first valid one ends it"


def test_where_the_default_fails_others_are_tried() -> None:
    problem = Scripted(seconds=valid_from(5), default=config(1))
    result = run(problem)
    assert result.best is not None and number(result.best.config) == 5
    assert [number(tried) for tried in problem.log] == [1, 2, 3, 4, 5]


def test_it_gives_up_in_the_end_and_says_why() -> None:
    problem = Scripted(seconds=lambda n: math.inf, default=config(1), size=100)
    result = run(problem)
    assert (result.best, result.stopped) == (None, Stop.SECONDS)
    assert LATE_TRIALS <= result.trials <= LATE_TRIALS + 1
    assert result.failures == {Outcome.RUNTIME_DEVICE: "crashed"}
    expected = f"no valid config was found in {result.trials} trials: "
    assert result.reason == f"{expected}{result.trials} RUNTIME_DEVICE (crashed)"
    assert result.to_json()["reason"] == result.reason
    with pytest.raises(TunesmithError, match="RUNTIME_DEVICE"):
        result.compile()


def test_it_gives_up_sooner_if_it_is_told_to() -> None:
    """One is begun in any case, and none of the others is taken for the end of the space."""
    problem = Scripted(seconds=lambda n: math.inf, default=config(1), size=100)
    result = tune(problem, "grid", NO_TIME, store="sqlite://", late_seconds=0.0)
    assert (result.trials, result.stopped) == (1, Stop.SECONDS)

    def slow(_: float) -> float:
        time.sleep(0.2)
        return math.inf

    problem = Scripted(seconds=slow, default=config(1), size=100)
    result = tune(problem, "grid", NO_TIME, store="sqlite://", late_seconds=1.5)
    assert 1 < result.trials < LATE_TRIALS
    assert result.stopped is Stop.SECONDS


def test_a_space_that_is_tried_out_ends_it() -> None:
    result = run(Scripted(seconds=lambda n: math.inf, size=3))
    assert (result.trials, result.stopped) == (3, Stop.EXHAUSTED)


def test_trials_are_counted_without_exception() -> None:
    result = run(Scripted(seconds=valid_from(3), default=config(1)), Budget(seconds=1e-9, trials=1))
    assert (result.trials, result.valid, result.stopped) == (1, 0, Stop.TRIALS)
    assert "1 RUNTIME_DEVICE (crashed)" in result.reason


def test_one_trial_is_that_of_the_default() -> None:
    problem = Scripted(default=config(9))
    result = run(problem, Budget(trials=1))
    assert problem.log == [config(9)]
    assert result.best is not None and result.reason == ""


def test_a_run_that_knows_a_best_has_no_more_time_than_it_was_given() -> None:
    problem = Scripted(default=config(7))
    with open_store("sqlite://") as store:
        tune(problem, "grid", Budget(trials=2), store=store)
        result = tune(problem, "grid", NO_TIME, store=store)
    assert (result.trials, result.resumed, result.stopped) == (2, 2, Stop.SECONDS)
    assert result.best is not None


def test_a_goal_that_is_reached_ends_it_like_before() -> None:
    result = run(Scripted(default=config(7)), Budget(seconds=1e-9, target_seconds=10.0))
    assert (result.trials, result.stopped) == (1, Stop.TARGET)


def test_ctrl_c_ends_it_at_once() -> None:
    problem = Scripted(seconds=lambda n: math.inf, before=failing_at(1, KeyboardInterrupt()))
    result = run(problem)
    assert (result.trials, result.stopped, result.best) == (1, Stop.INTERRUPTED, None)
    assert result.reason.startswith("no valid config was found in 1 trials: ")


def test_interrupted_before_the_first_trial_it_says_so() -> None:
    result = run(Scripted(before=failing_at(0, KeyboardInterrupt())))
    assert result.reason == "no valid config was found in 0 trials: interrupted"


def test_functions_are_called_at_least_once() -> None:
    def slow(config: object) -> float:
        time.sleep(0.02)
        return 1.0

    problem = FunctionProblem(Space([Ordinal("n", (1, 2, 3))]), slow)
    result = tune(problem, "random", Budget(seconds=0.001))
    assert (result.trials, result.valid) == (1, 1)
    assert result.best is not None


def test_the_most_frequent_failures_come_first() -> None:
    result = run(Scripted(seconds=lambda n: math.inf, size=4), Budget(trials=3))
    other = dict(result.failures) | {Outcome.BUILD_TIMEOUT: ""}
    counted = dict(result.outcomes) | {Outcome.BUILD_TIMEOUT: 9}
    mixed = Result(
        result.problem, None, None, 12, counted, result.time, result.stopped, failures=other
    )
    assert mixed.reason == (
        "no valid config was found in 12 trials: "
        "9 BUILD_TIMEOUT (no message); 3 RUNTIME_DEVICE (crashed)"
    )


@pytest.mark.slow
@pytest.mark.alone
def test_a_task_has_a_kernel_on_a_busy_machine_too() -> None:
    spin = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    cores = len(os.sched_getaffinity(0))
    loops = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(2 * cores)]
    try:
        result = tune(Task(matmul(m=64, n=64, k=64)), budget=NO_TIME, store="sqlite://")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert result.stopped is Stop.SECONDS and result.best is not None
    ones = np.ones((64, 64), dtype=np.float32)
    assert np.allclose(result.compile()(ones, ones), 64.0)
