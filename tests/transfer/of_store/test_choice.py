"""The model that a task gets: when one is trained, kept, used and done without."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.transfer.made_up import SIZES, TARGET, add_trials, problem_of, task
from tests.transfer.of_store.filled import OTHER, change, fill, scope_of
from tunesmith.errors import MissingDependencyError, StoreError, UsageError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.transfer.listing import listed
from tunesmith.transfer.model import TooFewTrialsError
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

HERE = Scope(TARGET)


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


def test_a_store_that_could_not_teach_is_not_read_again_until_it_grows(
    store: Store, monkeypatch: Any
) -> None:
    fill(store)
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE series SET sketch_version = 0")
    trained: list[Scope] = []

    def counted(store: Store, scope: Scope, tell: Any) -> Any:
        trained.append(scope)
        return train(store, scope, tell)

    monkeypatch.setattr(choice, "train", counted)
    for _ in range(3):
        assert model_for(store, TARGET) is shipped_model(TARGET)
    assert trained == [HERE]
    add_trials(store, 224)
    assert model_for(store, TARGET) is shipped_model(TARGET)
    assert trained == [HERE, HERE]


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


def test_a_store_of_which_all_failed_is_read_once(store: Store, monkeypatch: Any) -> None:
    fill(store)
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE records SET outcome = 7, seconds = NULL, run_seconds = '[]'")
    trained: list[Scope] = []

    def counted(store: Store, scope: Scope, tell: Any) -> Any:
        trained.append(scope)
        return train(store, scope, tell)

    monkeypatch.setattr(choice, "train", counted)
    for _ in range(3):
        lines: list[str] = []
        assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
        assert "every trial failed" in lines[-1]
    assert trained == [HERE]


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
