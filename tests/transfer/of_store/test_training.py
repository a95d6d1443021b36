"""Models of a store's trials: what they learn from, where they are kept, how good they are."""

from __future__ import annotations

import logging
import sqlite3

import pytest

from tests.transfer.made_up import TARGET, add_trials, task
from tests.transfer.of_store.filled import HERE, OTHER, fill, scope_of
from tunesmith.errors import UsageError
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.transfer.model import TooFewTrialsError
from tunesmith.transfer.of_store import (
    Scope,
    folder_of,
    held_out_scores,
    model_for,
    saved_models,
    train,
)

pytest.importorskip("xgboost", reason="XGBoost is not installed")


def test_a_choice_of_operators_and_sketches(store: Store) -> None:
    fill(store)
    with pytest.raises(TooFewTrialsError):
        train(store, Scope(TARGET, operators=("conv2d",)))
    with pytest.raises(TooFewTrialsError):
        train(store, Scope(TARGET, sketches=("cpu_tiled",)))
    assert train(store, Scope(TARGET, ("matmul",), ("cpu_gemm",))).trials == 500


def test_what_devices_elsewhere_measured(store: Store) -> None:
    board = Target("cpu", "cortex-a72", 4, triple="aarch64-linux-gnu")
    fill(store, board, machine={"fingerprint": "a board"})
    with pytest.raises(UsageError, match=r"by this machine, but 600 for cpu-cortex-a72: with "):
        train(store, Scope(Target("cpu")))
    with pytest.raises(UsageError, match=r"'--target all' a model learns from them$"):
        held_out_scores(store, Scope(Target("cpu")))
    assert scope_of(model_for(store, board)) == "cpu-cortex-a72"  # by itself, of their own trials
    assert train(store, Scope(None)).trials == 500
    fill(store, board, machine={"fingerprint": "another board"})
    assert train(store, Scope(None)).trials == 1000  # whose times are another series
    assert scope_of(model_for(store, Target("cpu", "cortex-a53", 4, triple=board.triple))) == "all"


def test_a_folder_that_cannot_be_made(store: Store) -> None:
    fill(store)
    place = folder_of(store)
    assert place is not None
    place.write_text("a file")
    lines: list[str] = []
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert "is not saved" in lines[-1]
    lines.clear()
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert lines == [], "this process keeps it"
    place.unlink()
    add_trials(store, 224, 260)
    add_trials(store, 256, 260)
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "cpu-znver4"
    assert list(saved_models(store)) == ["cpu-znver4"]
    lines.clear()
    later = model_for(store, TARGET, tell=lines.append)
    assert later is not None
    assert (later.tasks, lines) == (7, []), "the file is the newer one"


def test_a_store_without_a_file(caplog: pytest.LogCaptureFixture) -> None:
    with open_store("sqlite://") as store:
        fill(store)
        assert folder_of(store) is None
        first, second = (model_for(store, TARGET) for _ in range(2))
        assert scope_of(first) == "cpu-znver4"
        assert first is not None
        assert second is not None
        assert second.trees is first.trees, "this process keeps it"
        assert saved_models(store) == {}
        add_trials(store, 224, 130)
        add_trials(store, 256, 130)
        later = model_for(store, TARGET)
        assert later is not None
        assert later.tasks == 7, "enough is new"
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert "the model is kept until the program ends, as " in line.getMessage()


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


@pytest.mark.parametrize(
    ("sizes", "count", "said"), [([64], 600, "600 of 1"), ([64, 96, 128], 120, "360 of 3")]
)
def test_scores_of_too_few(store: Store, sizes: list[int], count: int, said: str) -> None:
    for size in sizes:
        add_trials(store, size, count)
    with pytest.raises(TooFewTrialsError, match=f"scores need 500 trials, of two .* has {said}: t"):
        held_out_scores(store, HERE)


def test_scores_without_tasks_of_which_nothing_worked(store: Store) -> None:
    """A part whose other tasks all failed teaches nothing, and counts for nobody; the others do."""
    add_trials(store, 64, 600)
    add_trials(store, 96, 120)
    with sqlite3.connect(store.name) as connection:
        connection.execute(
            "UPDATE records SET outcome = 7, seconds = NULL, run_seconds = '[]' WHERE series_id = "
            "(SELECT series.id FROM series JOIN tasks ON task_id = tasks.id WHERE key = ?)",
            [task(96).key],
        )
    lines: list[str] = []
    rows = held_out_scores(store, HERE, lines.append)
    assert {row["tasks"] for row in rows.values()} == {0}
    assert any("is left out: there is nothing to learn from" in line for line in lines)


def test_a_processor_that_nobody_here_knows(store: Store) -> None:
    """Of a store that came from elsewhere, as another LLVM named it."""
    fill(store, OTHER)
    fill(store)
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE tasks SET key = replace(key, 'haswell', 'nobody-knows')")
        for table in ("sessions", "series", "tasks"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for column in {"description", "target"} & set(columns):
                connection.execute(
                    f"UPDATE {table} SET {column} = replace({column}, 'haswell', 'nobody-knows')"
                )
    assert train(store, Scope(None)).trials == 500
    assert held_out_scores(store, Scope(None))["estimates"]["tasks"] == 5


def test_the_names_of_scopes() -> None:
    assert Scope(None).name == "all"
    assert Scope(None, ("dense",)).name == "all.dense"
    assert Scope(TARGET, ("matmul", "dense", "dense")).name == "cpu-znver4.dense+matmul"
    assert Scope(TARGET, (), ("cpu_tiled",)).name == "cpu-znver4.cpu_tiled"
    assert Scope(Target("cuda", arch="sm_90")).name == "cuda-sm_90"


@pytest.mark.parametrize(
    "scope",
    [
        Scope(None),
        Scope(OTHER, ("dense",), ("cpu_tiled",)),
        Scope(Target("cuda", arch="sm_90")),
        Scope(Target("cpu", "cortex-a72", triple="aarch64-linux-gnu")),
    ],
)
def test_scopes_as_data(scope: Scope) -> None:
    again = Scope.from_json(scope.to_json())
    assert (again.name, again.to_json()) == (scope.name, scope.to_json())


def test_a_scope_of_this_processor_names_it() -> None:
    target = Scope(Target()).to_json()["target"]
    assert target == {"kind": "cpu", "mcpu": Target().processor}
