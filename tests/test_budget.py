"""Budgets: the limits of a run, and which of them is reached first."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.budget import Budget, Stop
from tunesmith.errors import UsageError


def stop(
    budget: Budget,
    *,
    elapsed: float = 0.0,
    trials: int = 0,
    best_seconds: float = math.inf,
    since_improvement: int = 0,
    flops: float | None = None,
) -> Stop | None:
    return budget.stop(
        elapsed=elapsed,
        trials=trials,
        best_seconds=best_seconds,
        since_improvement=since_improvement,
        flops=flops,
    )


def test_without_limits_nothing_stops() -> None:
    assert stop(Budget(), elapsed=1e9, trials=10**9, best_seconds=1e-9) is None


def test_each_limit_holds_from_its_value_on() -> None:
    assert stop(Budget(trials=5), trials=4) is None
    assert stop(Budget(trials=5), trials=5) is Stop.TRIALS
    assert stop(Budget(seconds=5.0), elapsed=4.9) is None
    assert stop(Budget(seconds=5.0), elapsed=5.0) is Stop.SECONDS
    assert stop(Budget(patience=5), since_improvement=4) is None
    assert stop(Budget(patience=5), since_improvement=5) is Stop.PATIENCE
    assert stop(Budget(target_seconds=5.0), best_seconds=5.1) is None
    assert stop(Budget(target_seconds=5.0), best_seconds=5.0) is Stop.TARGET


def test_a_speed_needs_operations_to_count() -> None:
    budget = Budget(target_gflops=2.0)
    assert stop(budget, best_seconds=1.0, flops=1.9e9) is None
    assert stop(budget, best_seconds=1.0, flops=2e9) is Stop.TARGET
    assert stop(budget, best_seconds=1e-9) is None
    assert stop(budget, flops=2e9) is None, "nothing valid was found yet"


def test_of_two_targets_the_easier_one_is_enough() -> None:
    budget = Budget(target_gflops=1.0, target_seconds=3.0)
    assert stop(budget, best_seconds=3.0, flops=2e9) is Stop.TARGET
    assert stop(budget, best_seconds=2.0, flops=1e9) is Stop.TARGET
    assert stop(budget, best_seconds=3.1, flops=2e9) is None


def test_a_target_comes_before_all_else() -> None:
    budget = Budget(trials=1, seconds=1.0, patience=1, target_seconds=1.0)
    reached = stop(budget, elapsed=2.0, trials=2, since_improvement=2, best_seconds=0.5)
    assert reached is Stop.TARGET


@pytest.mark.parametrize("name", list(Budget().to_json()))
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_limit_is_positive(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"budget: {name} must be positive, not {value}"):
        Budget(**{name: value})  # type: ignore[arg-type]


def test_every_stop_has_a_line_for_people() -> None:
    lines = [reason.meaning for reason in Stop]
    assert len(set(lines)) == len(Stop)
    assert all(line and "\n" not in line for line in lines)


@pytest.mark.parametrize("name", ["trials", "patience"])
def test_a_count_is_any_whole_number(name: str) -> None:
    for ten in (10.0, np.int64(10)):
        found = getattr(Budget(**{name: ten}), name)  # type: ignore[arg-type]
        assert found == 10
        assert type(found) is int
    assert type(Budget(seconds=np.float32(0.5)).seconds) is float  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"budget: {name} must be a whole number, not 10.5"):
        Budget(**{name: 10.5})  # type: ignore[arg-type]
