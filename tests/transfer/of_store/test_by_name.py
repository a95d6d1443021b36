"""Models that are asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.transfer.made_up import TARGET, add_trials
from tests.transfer.of_store.filled import HERE, OTHER, change, fill, scope_of
from tunesmith.errors import UsageError
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.transfer.model import TooFewTrialsError
from tunesmith.transfer.of_store import (
    Scope,
    choice,
    model_for,
    saved_models,
    train,
    training,
)
from tunesmith.transfer.shipped import shipped_model

pytest.importorskip("xgboost", reason="XGBoost is not installed")


def test_a_model_of_some_operators_is_for_those_who_ask_for_it(store: Store) -> None:
    fill(store)
    scope = Scope(TARGET, ("matmul",), ("cpu_gemm",))
    train(store, scope)
    assert list(saved_models(store)) == [scope.name] == ["cpu-znver4.matmul.cpu_gemm"]
    asked = model_for(store, TARGET, scope.name)
    assert scope_of(asked) == scope.name
    assert asked is not None
    assert asked.below is shipped_model(TARGET)
    assert scope_of(model_for(store, TARGET)) == "cpu-znver4"
    assert list(saved_models(store)) == ["cpu-znver4", scope.name]


def test_a_model_by_name_is_used_instead_of_the_best(store: Store) -> None:
    fill(store)
    fill(store, OTHER)
    for scope in (HERE, Scope(None), Scope(OTHER)):
        train(store, scope)
    assert scope_of(model_for(store, TARGET)) == "cpu-znver4"
    for name in ("all", "cpu-haswell", "cpu-znver4"):
        assert scope_of(model_for(store, TARGET, name)) == name


def test_a_model_by_name_stays_where_too_few_of_what_it_learns_from_is_new(
    store: Store, monkeypatch: Any
) -> None:
    """Its own trials were too few for a new one already, or are of another sketch."""
    fill(store)
    scope = Scope(TARGET, (), ("cpu_gemm",))
    train(store, scope)
    add_trials(store, 224, 300)

    def failing(*_: Any, **__: Any) -> Any:
        raise TooFewTrialsError("too few")

    monkeypatch.setattr(choice, "train", failing)
    model = model_for(store, TARGET, scope.name)
    assert model is not None
    assert model.tasks == 5
    assert model.below is shipped_model(TARGET)
    change(saved_models(store)[scope.name], versions={})
    with pytest.raises(TooFewTrialsError):
        model_for(store, TARGET, scope.name)


def test_a_model_by_name_is_trained_again_of_the_same_trials(store: Store) -> None:
    fill(store)
    fill(store, OTHER)
    name = Scope(OTHER, ("matmul",)).name
    train(store, Scope(OTHER, ("matmul",)))
    change(saved_models(store)[name], versions={})
    lines: list[str] = []
    model = model_for(store, TARGET, name, tell=lines.append)
    assert "is trained again: it is of tunesmith None" in lines[0]
    assert scope_of(model) == name
    assert model is not None
    assert (model.tasks, model.origin["choice"]["target"]["mcpu"]) == (5, "haswell")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.unlink(), "unknown model 'all': known: all.matmul"),
        (lambda path: path.write_bytes(b"no gzip"), "is no model"),
        (lambda path: change(path, choice=None), "does not say what it learned from"),
        (lambda path: change(path, choice={"target": {"kind": 5}}), "does not say what it learned"),
    ],
    ids=["not there", "broken", "without a choice", "another choice"],
)
def test_a_model_by_name_that_cannot_be_used(
    store: Store, spoil: Callable[[Any], None], reason: str
) -> None:
    fill(store)
    for scope in (Scope(None), Scope(None, ("matmul",))):
        train(store, scope)
    spoil(saved_models(store)["all"])
    with pytest.raises(UsageError, match=reason) as caught:
        model_for(store, TARGET, "all")
    assert "\n" not in str(caught.value)


def test_a_model_by_name_that_cannot_be_trained_again(store: Store, monkeypatch: Any) -> None:
    fill(store)
    train(store, Scope(None))
    change(saved_models(store)["all"], versions={})

    def failing(*_: Any, **__: Any) -> Any:
        raise ValueError("label must\nbe finite")

    monkeypatch.setattr(training, "learn", failing)
    reason = r"'all' of .* cannot be trained again \(ValueError: label must be finite\)"
    with pytest.raises(UsageError, match=reason):
        model_for(store, TARGET, "all")


def test_a_model_by_name_of_another_kind_of_target(store: Store) -> None:
    fill(store)
    train(store, HERE)
    with pytest.raises(UsageError, match="'cpu-znver4' learned of cpu, whose sketches are others"):
        model_for(store, Target("cuda", arch="sm_90"), "cpu-znver4")


def test_a_name_without_a_store() -> None:
    with pytest.raises(UsageError, match="unknown model 'all': there is none"):
        model_for(None, TARGET, "all")
