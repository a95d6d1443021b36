"""``tunesmith models``, and what is built without tuning."""

from __future__ import annotations

import gzip
import importlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.transfer.made_up import SIZES, TARGET, add_trials
from tests.transfer.of_store.filled import change
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.transfer.of_store import Scope, model_for, saved_models, train

pytest.importorskip("xgboost", reason="XGBoost is not installed")

MCPU = str(TARGET.mcpu)
MATMUL = ("matmul", "--m", 24, "--n", 32, "--k", 40)


@pytest.fixture
def filled(store: Path) -> Path:
    with open_store(store) as opened:
        for size in SIZES:
            add_trials(opened, size)
    return store


def test_from_training_to_removal(command: Command, filled: Path) -> None:
    trained = command("models", "train", "--store", filled, "--mcpu", MCPU, "--json").json
    assert trained == {"scope": f"cpu-{MCPU}", "trials": 500, "tasks": 5}
    first, *shipped = command("models", "list", "--store", filled, "--json").json["models"]
    assert (first["name"], first["trials"], first["state"]) == (f"cpu-{MCPU}", 500, "ready")
    assert [each["name"] for each in shipped] == ["shipped cpu", "shipped cuda"]
    listed = command("models", "list", "--store", filled)
    assert f"cpu-{MCPU}" in listed.out
    assert max(map(len, listed.out.splitlines())) <= 100
    removed = command("models", "remove", f"cpu-{MCPU}", "--store", filled)
    assert removed.out.startswith("removed ")
    assert not Path(first["file"]).exists()
    assert "has no models" in command("models", "remove", "--store", filled).out


def test_a_broken_model_is_listed_with_what_is_wrong(command: Command, filled: Path) -> None:
    command("models", "train", "--store", filled, "--mcpu", MCPU)
    place = Path(f"{filled}.models") / f"cpu-{MCPU}.json.gz"
    place.write_bytes(place.read_bytes()[:100])
    (first, *_) = command("models", "list", "--store", filled, "--json").json["models"]
    assert first["trials"] is None
    assert "is no model" in first["state"]


def test_scores(command: Command, filled: Path) -> None:
    scored = command("models", "score", "--store", filled, "--mcpu", MCPU)
    assert scored.code == 0
    assert "own trials, held out" in scored.out
    assert max(map(len, scored.out.splitlines())) <= 100
    rows = command("models", "score", "--store", filled, "--mcpu", MCPU, "--json").json
    own, estimates = rows["own trials, held out"], rows["estimates"]
    assert own["tasks"] == estimates["tasks"] == 5
    # What is slower than estimated in one task is in the others, too.
    assert estimates["correlation"] < own["correlation"] <= 1.0
    assert estimates["recall"]["20"] < own["recall"]["20"] <= 1.0


def test_a_model_of_some_operators_is_used_by_name(
    command: Command, filled: Path, tmp_path: Path
) -> None:
    words = ("--store", filled, "--mcpu", MCPU)
    command("models", "train", *words, "--operator", "matmul", "--sketch", "cpu_gemm")
    name = f"cpu-{MCPU}.matmul.cpu_gemm"
    (first, *_) = command("models", "list", "--store", filled, "--json").json["models"]
    assert (first["name"], first["state"]) == (name, "ready")
    product = ("matmul", "--m", 40, "--n", 40, "--k", 40, *words)
    shown = command("show", *product, "--model", name)
    assert shown.code == 0
    assert "learning from" not in shown.err
    assert Path(f"{filled}.models").exists()
    assert len(list(Path(f"{filled}.models").iterdir())) == 1
    refused = command("build", *product, "-o", tmp_path / "k.so", "--model", "all")
    assert refused.complaint == f"unknown model 'all': known: {name}"
    assert command("models", "remove", name, "--store", filled).out.startswith("removed ")


def test_a_wrong_option_is_told_of_before_a_model_is_trained(
    command: Command, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("tunesmith.tuning.tune")
    monkeypatch.setattr(module, "model_for", lambda *_, **__: pytest.fail("looked for a model"))
    words = ("tune", *MATMUL, "--tuner", "autotvm", "--tuner-option", "model=trees")
    ran = command(*words, "--store", filled)
    assert ran.complaint.startswith("tuner 'autotvm': unknown cost model 'trees'")
    assert ran.code == 2


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _of_another_format(path: Path) -> None:
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["version"] += 1
    path.write_bytes(gzip.compress(json.dumps(content).encode()))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_cut, "is no model"),
        (_of_another_format, "is a model of version"),
        (lambda path: change(path, versions={}), "is trained again: it is of tunesmith None"),
        (lambda path: change(path, scope="cpu-bdver2"), "is a copy of the model cpu-bdver2"),
    ],
    ids=["truncated", "of another format", "of another version", "of another target"],
)
def test_a_search_goes_on_with_what_is_wrong_with_a_model(
    command: Command, store: Path, spoil: Callable[[Path], None], said: str
) -> None:
    with open_store(store) as opened:
        for size in SIZES:
            add_trials(opened, size, target=Target())
        train(opened, Scope(Target().resolved()))
        (place,) = saved_models(opened).values()
    spoil(place)
    ran = command(
        "tune", *MATMUL, "--sketch", "cpu_gemm", "--trials", 3, "--store", store, "--json"
    )
    assert ran.json["best"]["gflops"] > 0
    assert sum(said in line for line in ran.err.splitlines()) == 1
    assert "learning from 600 trials of" in ran.err
    assert "Traceback" not in ran.err
    with open_store(store) as opened:
        model = model_for(opened, Target(), tell=pytest.fail)
    assert model is not None
    assert model.tasks == len(SIZES)


@pytest.mark.parametrize(
    ("change_all", "why"),
    [
        ("outcome = 7, seconds = NULL, run_seconds = '[]'", "every trial failed"),
        ("seconds = 0.001, run_seconds = '[0.001]'", "all that worked of a task took the same"),
    ],
    ids=["all failed", "constant speeds"],
)
def test_a_search_goes_on_beside_trials_that_teach_nothing(
    command: Command, store: Path, change_all: str, why: str
) -> None:
    with open_store(store) as opened:
        for size in SIZES:
            add_trials(opened, size, target=Target())
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(f"UPDATE records SET {change_all}")
    words = ("tune", *MATMUL, "--sketch", "cpu_gemm", "--store", store, "--json")
    ran = command(*words, "--trials", 3)
    assert ran.json["best"]["gflops"] > 0
    (line,) = (line for line in ran.err.splitlines() if why in line)
    assert f"without a model of {store}: there is nothing to learn from: " in line
    assert "Traceback" not in ran.err
    # Nothing is lost: the next run goes on from these trials.
    assert command(*words, "--trials", 5, "--resume").json["resumed"] == 3


def test_a_search_goes_on_beside_trials_for_another_processor(
    command: Command, store: Path
) -> None:
    other = Target(mcpu="bdver2", cores=2)
    with open_store(store) as opened:
        for size in SIZES:
            add_trials(opened, size, target=other)
    ran = command(
        "tune", *MATMUL, "--sketch", "cpu_gemm", "--trials", 3, "--store", store, "--json"
    )
    assert ran.json["best"]["gflops"] > 0
    (line,) = (line for line in ran.err.splitlines() if "nothing is learned from" in line)
    assert "bdver2" in line
    assert line.endswith(": 'tunesmith models train --target all' learns from them")
    assert not Path(f"{store}.models").exists()


def test_no_store_and_what_cannot_be_trained(command: Command, filled: Path) -> None:
    listed = command("models", "list", "--json").json["models"]
    assert [each["name"] for each in listed] == ["shipped cpu", "shipped cuda"]
    named = command("models", "list", "--store", filled.with_name("none.db"))
    assert named.complaint.startswith("no store at ")
    words = ("--store", filled, "--mcpu", MCPU, "--json")
    assert command("models", "train", *words, "--sketch", "gemm").json["scope"] == (
        f"cpu-{MCPU}.cpu_gemm"
    )


def test_a_copy_of_a_model_is_not_used(command: Command, filled: Path) -> None:
    command("models", "train", "--store", filled, "--mcpu", MCPU)
    place = Path(f"{filled}.models") / f"cpu-{MCPU}.json.gz"
    place.with_name("mine.json.gz").write_bytes(place.read_bytes())
    of_store = command("models", "list", "--store", filled, "--json").json["models"][:2]
    states = {each["name"]: each["state"] for each in of_store}
    assert states == {
        f"cpu-{MCPU}": "ready",
        "mine": f"is not used as it is: it is a copy of the model cpu-{MCPU}",
    }


def test_a_model_of_a_board_by_name(command: Command, store: Path) -> None:
    board = Target("cpu", "cortex-a72", 4, triple="aarch64-linux-gnu")
    with open_store(store) as opened:
        for size in SIZES:
            add_trials(opened, size, target=board, machine={"fingerprint": "a board"})
    its = ("--store", store, "--mcpu", "cortex-a72", "--triple", "aarch64-linux-gnu")
    trained = command("models", "train", *its, "--json").json
    assert trained == {"scope": "cpu-cortex-a72", "trials": 500, "tasks": 5}
    assert command("models", "score", *its).code == 0
    product = ("matmul", "--m", 40, "--n", 40, "--k", 40)
    shown = command("show", *product, *its, "--model", "cpu-cortex-a72")
    assert shown.code == 0, shown.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--mcpu", "zenver5"), "unknown processor 'zenver5'"),
        (("--triple", "riscv"), "unknown platform 'riscv'"),
        (("--target", "all", "--triple", "x86_64-linux-gnu"), "all targets have no --mcpu, --arch"),
    ],
)
def test_targets_that_do_not_exist(
    command: Command, filled: Path, words: tuple[str, ...], complaint: str
) -> None:
    refused = command("models", "train", "--store", filled, *words)
    assert refused.code == 2
    assert refused.complaint.startswith(complaint)


@pytest.mark.parametrize("what", ["train", "score"])
def test_a_damaged_record(command: Command, filled: Path, what: str) -> None:
    with sqlite3.connect(filled) as connection:
        connection.execute("UPDATE records SET run_seconds = 'no JSON' WHERE id = 7")
    refused = command("models", what, "--store", filled, "--mcpu", MCPU)
    assert refused.code == 2
    assert refused.complaint.startswith(f"{filled} cannot teach a model (")


def test_a_file_that_cannot_be_removed(command: Command, filled: Path) -> None:
    place = Path(f"{filled}.models") / "x.json.gz"
    place.mkdir(parents=True)
    refused = command("models", "remove", "x", "--store", filled)
    assert refused.code == 1
    assert refused.complaint.startswith(f"{place} cannot be removed (")


def test_a_name_of_no_model_where_the_task_was_tuned(command: Command, filled: Path) -> None:
    """No model is needed, and yet the name is looked at."""
    words = ("matmul", "--m", 64, "--n", 64, "--k", 64, "--mcpu", MCPU, "--store", filled)
    assert command("show", *words, "--cores", 2).code == 0
    refused = command("show", *words, "--cores", 2, "--model", "typo")
    assert refused.complaint == (
        "unknown model 'typo': there is none: 'tunesmith models train' makes one"
    )


def test_too_few_trials(command: Command, store: Path) -> None:
    with open_store(store) as opened:
        add_trials(opened, 64)
    refused = command("models", "train", "--store", store, "--mcpu", MCPU)
    assert refused.code == 2
    assert "needs 500 trials of sketches as they are now, and there are 120" in refused.err
    unknown = command("models", "remove", "x", "--store", store)
    assert unknown.complaint == "unknown model 'x': there is none"


def test_what_was_never_tuned_is_built_and_shown(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    words = ("matmul", "--m", 32, "--n", 32, "--k", 32)
    built = command("build", *words, "-o", tmp_path / "k.so", "--json")
    assert built.json["files"]["library"].endswith("k.so")
    assert "this is what the models think fastest, and tuning finds better" in built.err
    assert not (tmp_path / "data").exists()
    shown = command("show", *words, "--no-transfer")
    assert shown.code == 0
    assert "def main" in shown.out
