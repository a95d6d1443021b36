"""What a process does not try again."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from tests.transfer.made_up import TARGET, add_trials
from tests.transfer.of_store.filled import HERE, fill
from tunesmith.store import Store
from tunesmith.transfer.of_store import (
    Scope,
    choice,
    model_for,
    train,
)
from tunesmith.transfer.shipped import shipped_model

pytest.importorskip("xgboost", reason="XGBoost is not installed")


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Scope]:
    """The scopes of which somebody tried to learn."""
    found: list[Scope] = []

    def counted(store: Store, scope: Scope, tell: Any) -> Any:
        found.append(scope)
        return train(store, scope, tell)

    monkeypatch.setattr(choice, "train", counted)
    return found


def test_a_store_that_could_not_teach_is_not_read_again_until_it_grows(
    store: Store, trained: list[Scope]
) -> None:
    fill(store)
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE series SET sketch_version = 0")
    for _ in range(3):
        assert model_for(store, TARGET) is shipped_model(TARGET)
    assert trained == [HERE]
    add_trials(store, 224)
    assert model_for(store, TARGET) is shipped_model(TARGET)
    assert trained == [HERE, HERE]


def test_a_store_of_which_all_failed_is_read_once(store: Store, trained: list[Scope]) -> None:
    fill(store)
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE records SET outcome = 7, seconds = NULL, run_seconds = '[]'")
    for _ in range(3):
        lines: list[str] = []
        assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
        assert "every trial failed" in lines[-1]
    assert trained == [HERE]
