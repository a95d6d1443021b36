"""The model that a task gets: when one is trained, kept, used and done without."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.transfer.made_up import SIZES, TARGET, add_trials, problem_of, task
from tests.transfer.of_store.filled import HERE, OTHER, change, fill, scope_of
from tunesmith.errors import MissingDependencyError, StoreError, UsageError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.transfer.listing import listed
from tunesmith.transfer.of_store import (
    Scope,
    choice,
    folder_of,
    model_for,
    saved,
    saved_models,
    train,
    training,
)
from tunesmith.transfer.shipped import shipped_model

pytest.importorskip("xgboost", reason="XGBoost is not installed")


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
    assert lines[0].startswith("learning from 600 trials")


def test_it_is_read_again_while_little_is_new(store: Store, monkeypatch: Any) -> None:
    fill(store)
    model_for(store, TARGET)
    monkeypatch.setattr(choice, "train", lambda *_: pytest.fail("trained again"))
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


@pytest.mark.parametrize("by_name", [False, True], ids=["by itself", "by name"])
def test_it_stays_where_it_cannot_be_trained_again(
    store: Store, monkeypatch: Any, by_name: bool
) -> None:
    """What it knows is lost neither without XGBoost, which it does not need, nor by one record."""
    fill(store)
    model_for(store, TARGET)
    add_trials(store, 224, 130)
    add_trials(store, 256, 130)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    lines: list[str] = []
    model = model_for(store, TARGET, "cpu-znver4" if by_name else True, tell=lines.append)
    assert scope_of(model) == "cpu-znver4"
    assert model is not None
    assert (model.tasks, model.below) == (5, shipped_model(TARGET))
    assert "the model cpu-znver4 of" in lines[-1]
    assert "stays as it is" in lines[-1]
    assert "pip install 'tunesmith[models]'" in lines[-1]
    monkeypatch.undo()
    add_trials(store, 288, 390)
    model = model_for(store, TARGET)
    assert model is not None
    assert model.tasks == 8


def test_what_cannot_be_trained_again_is_tried_once_until_the_store_grows(
    store: Store, monkeypatch: Any
) -> None:
    fill(store)
    model_for(store, TARGET)
    add_trials(store, 224, 260)
    tried: list[Scope] = []

    def failing(_: Store, scope: Scope, __: Any) -> Any:
        tried.append(scope)
        raise ValueError("label must be finite")

    monkeypatch.setattr(choice, "train", failing)
    for _ in range(3):
        assert scope_of(model_for(store, TARGET)) == "cpu-znver4"
    assert tried == [HERE]
    add_trials(store, 256, 400)
    assert scope_of(model_for(store, TARGET)) == "cpu-znver4"
    assert tried == [HERE, HERE]


def test_it_is_off_or_given(store: Store) -> None:
    fill(store)
    assert model_for(store, TARGET, False) is None
    given = train(store, HERE)
    assert model_for(None, TARGET, given) is given
    assert model_for(None, TARGET) is shipped_model(TARGET)


def test_trials_are_counted_before_some_of_a_series_are_left_out(store: Store) -> None:
    for size in SIZES[:2]:
        add_trials(store, size, 260)
    model = model_for(store, TARGET)
    assert scope_of(model) == "cpu-znver4"
    assert model is not None
    assert (model.trials, model.tasks) == (200, 2)


def test_trials_of_the_task_itself_are_not_those_of_others(store: Store) -> None:
    add_trials(store, 64, 520)
    add_trials(store, 96, 120)
    for _ in range(2):
        assert model_for(store, TARGET, key=task(64).key) is shipped_model(TARGET)
    assert scope_of(model_for(store, TARGET, key=task(96).key)) == "cpu-znver4"


def test_enough_trials_that_teach_nothing_are_told_of_each_time(store: Store) -> None:
    fill(store)
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE series SET sketch_version = 0")
    for _ in range(2):
        lines: list[str] = []
        assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
        assert "needs 500 trials of sketches as they are now, and there are 0" in lines[-1]


def test_all_targets_when_asked(store: Store) -> None:
    fill(store, OTHER)
    train(store, Scope(None))
    model = model_for(store, TARGET)
    assert scope_of(model) == "all"
    assert model is not None
    assert model.below is None


def test_what_the_model_of_all_targets_does_not_know_is_left_to_the_shipped_one(
    store: Store,
) -> None:
    fill(store, OTHER)
    train(store, Scope(None))
    shipped = shipped_model(TARGET)
    assert shipped is not None
    known, unknown = problem_of(64), TaskProblem.of(task(64), "cpu_tiled")
    for model in (model_for(store, TARGET), model_for(store, TARGET, "all")):
        assert model is not None
        assert not model.knows(unknown)
        assert model.corrects(unknown)
        configs = unknown.space.sample_many(8, np.random.default_rng(0))
        assert (
            model.seconds(unknown, configs).tolist() == shipped.seconds(unknown, configs).tolist()
        )
        configs = known.space.sample_many(8, np.random.default_rng(0))
        assert model.seconds(known, configs).tolist() != shipped.seconds(known, configs).tolist()


def test_a_model_is_not_trained_again_of_too_few_trials_of_this_machine(store: Store) -> None:
    """Where two machines share a store, and the other one has the trials that it learned from."""
    mine = Target(mcpu=Target().processor, cores=2)
    fill(store, mine)
    assert scope_of(model_for(store, mine)) == Scope(mine).name
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE machines SET fingerprint = 'another'")
    add_trials(store, 224, 260, target=mine)
    lines: list[str] = []
    model = model_for(store, mine, tell=lines.append)
    assert scope_of(model) == Scope(mine).name
    assert model is not None
    assert (model.tasks, lines) == (5, [])
    add_trials(store, 256, 260, target=mine)
    model = model_for(store, mine, tell=lines.append)
    assert model is not None
    assert model.tasks == 2
    assert "520 trials are new" in lines[0]


def test_a_sketch_that_cannot_be_imported_any_more_leaves_the_model_as_it_is(
    store: Store, monkeypatch: Any
) -> None:
    fill(store)
    model_for(store, TARGET)
    monkeypatch.setattr(saved, "SKETCHES", Missing())
    assert listed(store)[0].state == "ready"
    assert scope_of(model_for(store, TARGET)) == "cpu-znver4"


class Missing:
    """Of whose sketches the packages are gone."""

    def get(self, name: str) -> Any:
        raise MissingDependencyError(f"sketch '{name}' cannot be imported")


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
        ({"below": "of long ago"}, "it corrects another model than the one that ships"),
        ({"written": 10_000}, "the store is another one"),
        ({"written": "many"}, "it does not say what it learned from"),
        ({"versions": None}, "it does not say what it learned from"),
        ({"scope": "cpu-haswell"}, "it is a copy of the model cpu-haswell"),
        ({"scope": None}, "it does not say what it learned from"),
        ({"first_session": "0123456789abcdef"}, "the store is another one"),
    ],
)
def test_a_model_that_is_not_used_as_it_is(
    store: Store, values: dict[str, Any], reason: str
) -> None:
    fill(store)
    model_for(store, TARGET)
    change(saved_models(store)["cpu-znver4"], **values)
    assert reason in listed(store)[0].state
    lines: list[str] = []
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert reason in lines[0]
    assert listed(store)[0].state == "ready"


def test_a_model_of_another_version_of_a_sketch(store: Store) -> None:
    fill(store)
    model_for(store, TARGET)
    path = saved_models(store)["cpu-znver4"]
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["sketches"]["cpu_gemm"] += 1
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    assert "another version of the sketch cpu_gemm" in listed(store)[0].state
    lines: list[str] = []
    model = model_for(store, TARGET, tell=lines.append)
    assert "another version of the sketch cpu_gemm" in lines[0]
    assert model is not None
    assert model.corrects(problem_of(64))


@pytest.mark.parametrize("wrong", [3, 1.5, None, ["cpu-znver4"]])
def test_what_says_nothing_of_transfer(wrong: Any) -> None:
    with pytest.raises(UsageError, match="transfer must be True, False, or a model or its name"):
        model_for(None, TARGET, wrong)


def test_without_xgboost_a_line_says_what_to_install(store: Store, monkeypatch: Any) -> None:
    fill(store)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    lines: list[str] = []
    assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
    assert "pip install 'tunesmith[models]'" in lines[-1]


def test_without_a_listener_a_warning_is_logged_once(
    store: Store, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fill(store)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    for _ in range(2):
        model_for(store, TARGET)
    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage().startswith("tunesmith: without a model of")
    assert "pip install 'tunesmith[models]'" in warning.getMessage()


def test_normal_use_logs_no_warning(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    fill(store)
    with caplog.at_level(logging.INFO, "tunesmith"):
        for _ in range(2):
            model_for(store, TARGET)
    (line,) = caplog.records
    assert line.levelno == logging.INFO
    assert line.getMessage().startswith("tunesmith: learning from 600 trials of")


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

    monkeypatch.setattr(training, "learn", failing)
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

    monkeypatch.setattr(training, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model_for(store, TARGET)


def test_a_model_of_another_store_is_replaced(store: Store, tmp_path: Path) -> None:
    """Both stores have as many trials."""
    fill(store)
    model_for(store, TARGET)
    with open_store(tmp_path / "other.db") as other:
        fill(other)
        folder = folder_of(other)
        original = folder_of(store)
        assert folder is not None and original is not None
        shutil.copytree(original, folder)
        lines: list[str] = []
        assert scope_of(model_for(other, TARGET, tell=lines.append)) == "cpu-znver4"
        assert lines[0].endswith("is trained again: the store is another one")


def test_a_store_is_moved_with_its_models(store: Store, tmp_path: Path, monkeypatch: Any) -> None:
    fill(store)
    model_for(store, TARGET)
    file, folder = store.file, folder_of(store)
    assert file is not None and folder is not None
    store.close()
    shutil.copy(file, tmp_path / "moved.db")
    shutil.copytree(folder, tmp_path / "moved.db.models")
    monkeypatch.setattr(choice, "train", lambda *_: pytest.fail("trained again"))
    with open_store(tmp_path / "moved.db") as moved:
        assert scope_of(model_for(moved, TARGET)) == "cpu-znver4"


def test_a_copy_under_another_scopes_name(store: Store) -> None:
    fill(store)
    model_for(store, TARGET)
    path = saved_models(store)["cpu-znver4"]
    shutil.copy(path, path.with_name("cpu-haswell.json.gz"))
    with pytest.raises(UsageError, match=r"'cpu-haswell' is a copy of the model 'cpu-znver4'"):
        model_for(store, TARGET, "cpu-haswell")
