"""Models of a store's trials: when they are trained, kept, used and done without."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.transfer.made_up import SIZES, TARGET, add_trials
from tunesmith.errors import StoreError, UsageError
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.transfer import of_store
from tunesmith.transfer.model import TooFewTrialsError
from tunesmith.transfer.of_store import (
    Scope,
    folder_of,
    held_out_scores,
    model_for,
    saved_models,
    train,
)
from tunesmith.transfer.shipped import shipped_model

pytest.importorskip("xgboost", reason="XGBoost is not installed")

OTHER = Target(mcpu="haswell", cores=2)
HERE = Scope(TARGET)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "t.db") as opened:
        yield opened


def fill(store: Store, target: Target = TARGET) -> None:
    for size in SIZES:
        add_trials(store, size, target=target)


def change(path: Path, **values: Any) -> None:
    found = json.loads(gzip.decompress(path.read_bytes()))
    found["origin"].update(values)
    path.write_bytes(gzip.compress(json.dumps(found).encode()))


def scope_of(model: Any) -> str | None:
    return None if model is None else model.described["scope"]


def test_with_few_trials_the_shipped_model_is_used(store: Store) -> None:
    add_trials(store, 64)
    assert model_for(store, TARGET) is shipped_model(TARGET)
    assert saved_models(store) == {}


def test_with_enough_a_model_is_trained_and_saved_beside_the_store(store: Store) -> None:
    fill(store)
    lines: list[str] = []
    model = model_for(store, TARGET, tell=lines.append)
    assert scope_of(model) == "cpu-znver4"
    assert model is not None
    assert model.trials == 500
    assert model.below is shipped_model(TARGET)
    assert list(saved_models(store)) == ["cpu-znver4"]
    assert folder_of(store) == Path(f"{store.name}.models")
    assert len(lines) == 1
    assert lines[0].startswith("learning from 500 trials")


def test_it_is_read_again_while_little_is_new(store: Store, monkeypatch: Any) -> None:
    fill(store)
    model_for(store, TARGET)
    monkeypatch.setattr(of_store, "train", lambda *_: pytest.fail("trained again"))
    add_trials(store, 224, 100)
    assert scope_of(model_for(store, TARGET)) == "cpu-znver4"


def test_it_is_trained_again_when_enough_is_new(store: Store) -> None:
    fill(store)
    model_for(store, TARGET)
    add_trials(store, 224, 130)
    add_trials(store, 256, 130)
    lines: list[str] = []
    model = model_for(store, TARGET, tell=lines.append)
    assert model is not None
    assert model.tasks == 7
    assert "is trained again: 260 trials are new" in lines[0]


def test_it_is_off_or_given(store: Store) -> None:
    fill(store)
    assert model_for(store, TARGET, False) is None
    given = train(store, HERE)
    assert model_for(None, TARGET, given) is given
    assert model_for(None, TARGET) is shipped_model(TARGET)


def test_trials_of_another_target_do_not_count(store: Store) -> None:
    fill(store, OTHER)
    lines: list[str] = []
    assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
    assert "learning from 0 trials" in lines[0]
    with pytest.raises(TooFewTrialsError):
        train(store, HERE)


def test_all_targets_when_asked(store: Store) -> None:
    fill(store, OTHER)
    train(store, Scope(None))
    model = model_for(store, TARGET)
    assert scope_of(model) == "all"
    assert model is not None
    assert model.below is None


def test_a_choice_of_operators_and_sketches(store: Store) -> None:
    fill(store)
    with pytest.raises(TooFewTrialsError):
        train(store, Scope(TARGET, operators=("conv2d",)))
    with pytest.raises(TooFewTrialsError):
        train(store, Scope(TARGET, sketches=("cpu_tiled",)))
    assert train(store, Scope(TARGET, ("matmul",), ("cpu_gemm",))).trials == 500


@pytest.mark.parametrize("broken", [b"", b"no gzip"])
def test_a_broken_file_is_told_of_and_replaced(store: Store, broken: bytes) -> None:
    fill(store)
    model_for(store, TARGET)
    path = saved_models(store)["cpu-znver4"]
    path.write_bytes(broken)
    lines: list[str] = []
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert "is no model" in lines[0]
    assert "\n" not in lines[0]
    lines.clear()
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert lines == []


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"versions": {"apache-tvm": "0.1"}}, "it is of tunesmith None"),
        ({"below": "of long ago"}, "another version of the shipped one"),
        ({"written": 10_000}, "the store is another one"),
    ],
)
def test_a_model_of_another_version(store: Store, values: dict[str, Any], reason: str) -> None:
    fill(store)
    model_for(store, TARGET)
    change(saved_models(store)["cpu-znver4"], **values)
    lines: list[str] = []
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert reason in lines[0]


def test_without_xgboost_a_line_says_what_to_install(store: Store, monkeypatch: Any) -> None:
    fill(store)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    lines: list[str] = []
    assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
    assert "pip install 'tunesmith[models]'" in lines[-1]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StoreError("a record is damaged"), "a record is damaged"),
        (ValueError("label must\nbe finite"), "ValueError: label must be finite"),
        (RecursionError(), "RecursionError"),
    ],
)
def test_whatever_goes_wrong_is_told_in_a_line(
    store: Store, monkeypatch: Any, error: Exception, reason: str
) -> None:
    fill(store)

    def failing(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(of_store, "learn", failing)
    lines: list[str] = []
    assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
    assert lines[-1] == f"without a model of {store.name}: {reason}"


def test_a_damaged_record_of_another_task(store: Store) -> None:
    fill(store)
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE records SET run_seconds = 'no JSON' WHERE id = 7")
    lines: list[str] = []
    assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
    assert "without a model of" in lines[-1]
    assert "\n" not in lines[-1]


def test_ctrl_c_while_it_is_trained(store: Store, monkeypatch: Any) -> None:
    fill(store)

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(of_store, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model_for(store, TARGET)


def test_a_folder_that_cannot_be_made(store: Store) -> None:
    fill(store)
    place = folder_of(store)
    assert place is not None
    place.write_text("a file")
    lines: list[str] = []
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert "is not saved" in lines[-1]


def test_a_store_without_a_file() -> None:
    with open_store("sqlite://") as store:
        fill(store)
        assert folder_of(store) is None
        assert scope_of(model_for(store, TARGET)) == "cpu-znver4"
        assert saved_models(store) == {}


def test_scores_are_of_tasks_that_were_held_out(store: Store) -> None:
    fill(store)
    add_trials(store, 224, 130)
    rows = held_out_scores(store, HERE)
    assert next(iter(rows)) == "estimates"
    own = rows["own trials, held out"]
    assert own["tasks"] == rows["estimates"]["tasks"] == 6
    assert own["correlation"] > rows["estimates"]["correlation"]


def test_scores_of_an_empty_store(store: Store) -> None:
    with pytest.raises(UsageError, match="has no trials of tasks"):
        held_out_scores(store, HERE)
