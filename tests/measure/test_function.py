"""Python functions as problems."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tunesmith.errors import InstantiationError, SpaceError
from tunesmith.measure.function import FunctionProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.problem import Measurer, MeasureSettings, Problem
from tunesmith.space import Config, Constraint, Ordinal, Space
from tunesmith.testing.trials import candidates

SPACE = Space([Ordinal("n", tuple(range(1, 9)))])
ONE, TWO, THREE = (Config({"n": n}) for n in (1, 2, 3))


def cost(config: Config) -> float:
    n = config["n"]
    assert isinstance(n, int)
    return float(n)


def measure(function: Callable[[Config], Any], config: Config = ONE) -> Measurement:
    with FunctionProblem(SPACE, function).measurer(MeasureSettings()) as measurer:
        measurer.submit(candidates([config]))
        [measurement] = measurer.collect(timeout=0.0)
        return measurement


def raising(error: BaseException) -> Callable[[Config], float]:
    def function(config: Config) -> float:
        raise error

    return function


# --- The problem


def test_it_is_a_problem_with_a_measurer() -> None:
    problem: Problem = FunctionProblem(SPACE, cost, default=TWO)
    measurer: Measurer = problem.measurer(MeasureSettings())
    assert measurer.batch == 1
    assert problem.space is SPACE
    assert problem.default == TWO
    assert problem.flops is None
    assert problem.finalists == 0
    assert FunctionProblem(SPACE, cost, finalists=2).finalists == 2


def test_the_key_is_of_the_functions_name_and_the_space() -> None:
    key = FunctionProblem(SPACE, cost).key
    assert key.startswith(f"function:{__name__}.cost:")
    assert key == FunctionProblem(Space([Ordinal("n", tuple(range(1, 9)))]), cost).key
    assert key != FunctionProblem(Space([Ordinal("n", (1, 2))]), cost).key
    assert key != FunctionProblem(SPACE, raising(ValueError())).key
    assert FunctionProblem(SPACE, cost, name="mine").key.startswith("function:mine:")


def test_an_object_that_can_be_called_has_the_name_of_its_class() -> None:
    assert FunctionProblem(SPACE, functools.partial(cost)).name == "functools.partial"


def test_the_description_is_its_identity() -> None:
    described = FunctionProblem(SPACE, cost, name="mine").describe()
    assert described == {"kind": "function", "function": "mine", "space": SPACE.to_json()}


def test_a_space_with_a_python_predicate_has_a_key_too() -> None:
    def problem(label: str) -> FunctionProblem:
        predicate = Constraint.of(["n"], lambda n: n > 2, label)
        return FunctionProblem(Space(SPACE.parameters, [predicate]), cost)

    assert problem("large").key == problem("large").key
    assert problem("large").key != problem("small").key
    assert problem("large").describe()["space"]["constraints"] == ["large"]


def test_a_default_outside_the_space_is_refused() -> None:
    with pytest.raises(SpaceError, match="not in the space"):
        FunctionProblem(SPACE, cost, default=Config({"n": 99}))


# --- Outcomes


@pytest.mark.parametrize("result", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0)])
def test_any_kind_of_number_is_a_cost(result: object) -> None:
    measurement = measure(lambda config: result)
    assert measurement.outcome is Outcome.NO_ERROR
    assert measurement.run_seconds == (2.0,)
    assert isinstance(measurement.seconds, float)
    assert measurement.run_time > 0.0


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (math.nan, "the cost is nan, not a positive finite number"),
        (math.inf, "the cost is inf, not a positive finite number"),
        (0.0, "the cost is 0.0, not a positive finite number"),
        (-1, "the cost is -1.0, not a positive finite number"),
        (None, "the cost is None, not a number"),
        ("2.0", "the cost is '2.0', not a number"),
        (True, "the cost is True, not a number"),
        (2j, "the cost is 2j, not a number"),
    ],
)
def test_what_is_no_cost_is_a_wrong_answer(result: object, message: str) -> None:
    measurement = measure(lambda config: result)
    assert measurement.outcome is Outcome.WRONG_ANSWER
    assert measurement.message == message
    assert measurement.run_seconds == ()


@pytest.mark.parametrize("result", [np.array([1.0, 2.0]), 10**400])
def test_what_is_no_single_float_is_a_wrong_answer(result: object) -> None:
    measurement = measure(lambda config: result)
    assert measurement.outcome is Outcome.WRONG_ANSWER
    assert measurement.message.startswith("the cost is not a number: ")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("too\nlong"), "ValueError: too long"),
        (ZeroDivisionError(), "ZeroDivisionError"),
        (SystemExit(3), "SystemExit: 3"),
        (MemoryError("no room"), "MemoryError: no room"),
    ],
)
def test_an_exception_is_a_failed_run(error: BaseException, message: str) -> None:
    measurement = measure(raising(error))
    assert measurement.outcome is Outcome.RUNTIME_DEVICE
    assert measurement.message == message


def test_an_instantiation_error_is_an_outcome_of_its_own() -> None:
    measurement = measure(raising(InstantiationError("n must be even")))
    assert measurement.outcome is Outcome.INSTANTIATION_ERROR
    assert measurement.message == "n must be even"


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        measure(raising(KeyboardInterrupt()))


# --- The measurer


def test_each_collect_makes_one_trial_in_the_order_of_submission() -> None:
    calls: list[Config] = []

    def function(config: Config) -> float:
        calls.append(config)
        return cost(config)

    measurer = FunctionProblem(SPACE, function).measurer(MeasureSettings())
    measurer.submit(candidates([TWO, ONE]))
    measurer.submit(candidates([THREE]))
    assert (measurer.pending, calls) == (3, [])
    assert [m.config for m in measurer.collect(1.0)] == [TWO]
    assert (measurer.pending, calls) == (2, [TWO])
    assert [m.seconds for _ in range(2) for m in measurer.collect(1.0)] == [1.0, 3.0]
    assert measurer.collect(1.0) == []


def test_what_is_cancelled_is_not_measured() -> None:
    measurer = FunctionProblem(SPACE, cost).measurer(MeasureSettings())
    measurer.submit(candidates([ONE, TWO]))
    measurer.cancel()
    assert (measurer.pending, measurer.collect(0.0)) == (0, [])
    measurer.submit(candidates([THREE]))
    assert [m.config for m in measurer.collect(0.0)] == [THREE]


def test_closing_drops_what_is_pending() -> None:
    measurer = FunctionProblem(SPACE, cost).measurer(MeasureSettings())
    measurer.submit(candidates([ONE, TWO]))
    measurer.close()
    measurer.close()
    assert measurer.pending == 0
    assert measurer.collect(0.0) == []


def test_time_is_run_or_idle() -> None:
    measurer = FunctionProblem(SPACE, cost).measurer(MeasureSettings())
    assert set(measurer.time_split().values()) == {0.0}
    measurer.submit(candidates([ONE]))
    [measurement] = measurer.collect(0.0)
    measurer.close()
    split = measurer.time_split()
    assert split["build"] == 0.0
    assert split["run"] >= measurement.run_time - 1e-6
    assert split == measurer.time_split(), "the clock stops with close"


# --- Play-offs


def test_a_play_off_takes_turns() -> None:
    calls: list[Config] = []

    def function(config: Config) -> float:
        calls.append(config)
        return float(len(calls))

    measurer = FunctionProblem(SPACE, function).measurer(MeasureSettings())
    first, second = measurer.play_off(candidates([ONE, TWO]), rounds=3)
    assert calls == [ONE, TWO] * 3
    assert (first.config, first.run_seconds) == (ONE, (1.0, 3.0, 5.0))
    assert (second.config, second.run_seconds) == (TWO, (2.0, 4.0, 6.0))


def test_a_failure_in_any_round_of_a_play_off_is_its_result() -> None:
    costs = iter([1.0, 1.0, 1.0, math.nan, 1.0, 1.0])
    measurer = FunctionProblem(SPACE, lambda config: next(costs)).measurer(MeasureSettings())
    first, second = measurer.play_off(candidates([ONE, TWO]), rounds=3)
    assert first.run_seconds == (1.0, 1.0, 1.0)
    assert second.outcome is Outcome.WRONG_ANSWER
    assert second.run_seconds == ()
    assert "nan" in second.message


def test_a_play_off_of_nothing() -> None:
    measurer = FunctionProblem(SPACE, cost).measurer(MeasureSettings())
    assert measurer.play_off(candidates([]), rounds=3) == []
    assert measurer.play_off(candidates([ONE]), rounds=0) == []
