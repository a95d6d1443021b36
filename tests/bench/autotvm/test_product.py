"""What a user of a network that nobody has tuned gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.transfer.made_up import series
from tunesmith.bench.autotvm import product_row
from tunesmith.bench.autotvm.product import (
    Plan,
    chosen_operators,
    held_out,
    measure_product,
    without,
)
from tunesmith.bench.autotvm.product_row import (
    ALONE,
    AT,
    SHARES,
    ProductSettings,
    shares_of_fastest,
)
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.machine import this_machine
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import ProductOperator, matmul
from tunesmith.transfer.training_set import Series

pytest.importorskip("xgboost", reason="XGBoost is not installed")


def with_relu(of: Series, network: str) -> Series:
    """The same trials, of the same product with a ReLU, in another network."""
    operator = of.task.operator
    assert isinstance(operator, ProductOperator)
    task = replace(of.task, operator=replace(operator, relu=True))
    return replace(of, task=task, networks=frozenset({network}))


SMALL, LARGE = series(64, 520, network="a"), series(96, 560, network="b")
KNOWN = [SMALL, LARGE, with_relu(SMALL, "c")]


def test_a_network_is_held_out_with_what_is_like_it_elsewhere() -> None:
    assert held_out(KNOWN, "a").trials == held_out(KNOWN, "c").trials == len(LARGE.configs)
    assert held_out(KNOWN, "b").trials == 2 * len(SMALL.configs)


def test_no_two_rows_have_the_same_work() -> None:
    assert chosen_operators(KNOWN, 1) == {
        "a": [SMALL.task.operator],
        "b": [LARGE.task.operator],
        "c": [],
    }


def test_an_unknown_network() -> None:
    rows = measure_product(
        Plan.of(KNOWN, ProductSettings()),
        ["d"],
        ProductSettings(),
        known=[],
        watch=lambda *_: lambda _: None,
    )
    with pytest.raises(UsageError, match="no training set has a network 'd'"):
        next(rows)


def test_the_rows_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_row, "_ROUNDS", 3)
    settings = ProductSettings(trials=24, operators=1)
    plan = Plan.of(KNOWN, settings)
    assert plan.rows(["a", "b"], settings, []) == {"size": [24, 0], "rows": 2}
    told: list[str] = []

    def rows(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
        def watch(network: str, _: object) -> Any:
            told.append(network)
            return lambda _: None

        asked = ["a", "b"]
        return list(measure_product(plan, asked, settings, known=known, watch=watch))

    found = rows([])
    assert told == ["a", "b"]
    for row, size in zip(found, (64, 96), strict=True):
        operator = matmul(m=size, n=size, k=size)
        assert (row["workload"], row["operator"]) == (operator.label, operator.to_json())
        assert (row["trials"], row["limit"], row["seed"], row["apart"]) == (24, 24, 0, True)
        assert 0 < row["valid"] <= 24
        assert row["best_seconds"] > 0.0
        assert row["curve"][-1][0] <= 24
        assert row["origin"]["machine"] == this_machine()
        assert row[ALONE].keys() == set(SHARES)
        shares = [*(row[name] for name in SHARES), *row[ALONE].values()]
        assert all(0.0 <= share <= 1.0 for share in shares)
    assert SHARES[1:] == tuple(f"trials_{count}" for count in AT)
    assert rows(found) == [], "what is known is not measured again"
    assert plan.rows(["a"], settings, found)["rows"] == 2, "those that are there count"
    old = [{**row, "apart": False} for row in found]
    assert without(found, found[0]) == found[1:]
    assert without(old, found[0]) == []


class Replies(LocalMeasurers):
    """Answers play-offs in turn, with the seconds of a call of each candidate or why it failed."""

    def __init__(self, *replies: Sequence[float | Outcome]) -> None:
        super().__init__()
        self.left = list(replies)

    def measurer(self, job: Job) -> LocalMeasurer:
        return self  # type: ignore[return-value] # all that is asked of one

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> list[Measurement]:
        return [
            Measurement(each.config, reply, sketch=each.sketch)
            if isinstance(reply, Outcome)
            else Measurement(each.config, Outcome.NO_ERROR, (reply,), sketch=each.sketch)
            for each, reply in zip(candidates, self.left.pop(0), strict=True)
        ]

    def close(self) -> None:
        pass


TASK = SMALL.task
CANDIDATES = [Candidate(config, SMALL.sketch) for config in SMALL.configs[:3]]


def shares(*replies: Sequence[float | Outcome]) -> list[float]:
    found = shares_of_fastest(TASK, [*CANDIDATES, CANDIDATES[0]], Replies(*replies))
    return [found[candidate] for candidate in CANDIDATES]


def test_shares_are_of_the_fastest() -> None:
    assert shares([2.0, 1.0, 4.0]) == [0.5, 1.0, 0.25]


def test_what_fails_has_no_share_of_the_speed() -> None:
    for failed in (Outcome.WRONG_ANSWER, Outcome.INSTANTIATION_ERROR, Outcome.UNKNOWN_ERROR):
        assert shares([2.0, failed, 4.0]) == [1.0, 0.0, 0.5]


def test_where_one_runs_out_of_time_all_are_measured_again() -> None:
    assert shares([2.0, Outcome.RUN_TIMEOUT, 4.0], [3.0, 1.5, 3.0]) == [0.5, 1.0, 0.5]


@pytest.mark.parametrize(
    ("outcome", "why"),
    [(Outcome.RUN_TIMEOUT, "some run out of time"), (Outcome.RUNTIME_DEVICE, "all fail")],
)
def test_the_best_that_cannot_be_compared(outcome: Outcome, why: str) -> None:
    with pytest.raises(TunesmithError, match=f"the best configs cannot be compared, {why}: repeat"):
        shares([outcome] * 3, [outcome] * 3)
