"""What a user of a network that nobody has tuned gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.transfer.made_up import series
from tunesmith.bench.autotvm.product import (
    ALONE,
    AT,
    SHARES,
    ProductSettings,
    chosen_operators,
    held_out,
    measure_product,
    without,
)
from tunesmith.errors import UsageError
from tunesmith.operators import ProductOperator, matmul
from tunesmith.target import Target
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
        KNOWN, ["d"], ProductSettings(), known=[], watch=lambda *_: lambda _: None
    )
    with pytest.raises(UsageError, match="no training set has a network 'd'"):
        next(rows)


def test_the_rows_of_networks() -> None:
    settings = ProductSettings(trials=24, operators=1)
    told: list[str] = []

    def rows(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
        def watch(network: str, _: object) -> Any:
            told.append(network)
            return lambda _: None

        asked = ["a", "b"]
        return list(measure_product(KNOWN, asked, settings, known=known, watch=watch))

    found = rows([])
    assert told == ["a", "b"]
    for row, size in zip(found, (64, 96), strict=True):
        operator = matmul(m=size, n=size, k=size)
        assert (row["workload"], row["operator"]) == (operator.label, operator.to_json())
        assert (row["trials"], row["limit"], row["seed"], row["apart"]) == (24, 24, 0, True)
        assert 0 < row["valid"] <= 24
        assert row["best_seconds"] > 0.0
        assert row["curve"][-1][0] <= 24
        assert row["origin"]["machine"]["cores"] == Target().core_count
        assert row[ALONE].keys() == set(SHARES)
        shares = [*(row[name] for name in SHARES), *row[ALONE].values()]
        assert all(0.0 <= share <= 1.0 for share in shares)
    assert SHARES[1:] == tuple(f"trials_{count}" for count in AT)
    assert rows(found) == [], "what is known is not measured again"
    old = [{**row, "apart": False} for row in found]
    assert without(found, found[0]) == found[1:]
    assert without(old, found[0]) == []
