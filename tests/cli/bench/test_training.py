"""From records to a model that ships: the commands, on made-up records."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.emulated import no_gpu
from tests.transfer.made_up import SIZES, add_trials, task
from tunesmith.store import open_store
from tunesmith.transfer.files import read_model
from tunesmith.transfer.training_set import read_training_set

__all__ = ["no_gpu"]

pytest.importorskip("xgboost", reason="XGBoost is not installed")


@pytest.fixture
def records(store: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A training set of a store; without PyTorch, whose networks would take a minute."""
    with open_store(store) as opened:
        for size in (*SIZES, 224, 256):
            add_trials(opened, size, 130)
    monkeypatch.setitem(sys.modules, "torch", None)
    written = command("bench", "training-set", tmp_path / "set.json.gz", "--store", store, "--json")
    assert written.json["trials"] == 910
    assert "of which networks operators are is not known" in written.err
    return tmp_path / "set.json.gz"


def test_a_set_becomes_a_model(records: Path, tmp_path: Path, command: Command) -> None:
    place = tmp_path / "models" / "cpu.json.gz"
    trained = command("bench", "train-model", records, "-o", place)
    assert trained.code == 0, trained.err
    assert "new networks" in trained.out
    assert max(map(len, trained.out.replace(str(place), "").splitlines())) <= 100
    assert read_model(place).trials == 910


@pytest.mark.parametrize("command_name", ["train-model", "training-set"])
def test_a_file_that_cannot_be_written_is_told_before_the_work(
    command_name: str,
    records: Path,
    command: Command,
    *,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which takes minutes."""
    for name in ("train_model.train_model", "origins.networks_of_operators"):
        monkeypatch.setattr(f"tunesmith.bench.training.{name}", lambda *_: pytest.fail("too late"))
    given = [records, "-o"] if command_name == "train-model" else ["--store", store]
    for place, said in (
        (records / "x.json.gz", "is not a folder: name another"),
        (tmp_path, "it is a folder: name a file"),
    ):
        refused = command("bench", command_name, *given, place)
        assert refused.code == 1
        assert said in refused.complaint


def test_an_empty_set_beside_another(records: Path, tmp_path: Path, command: Command) -> None:
    content = json.loads(gzip.decompress(records.read_bytes()))
    empty = tmp_path / "empty.json.gz"
    empty.write_bytes(gzip.compress(json.dumps({**content, "tasks": []}).encode()))
    place = tmp_path / "cpu.json.gz"
    trained = command("bench", "train-model", empty, records, "-o", place)
    assert trained.code == 0, trained.err
    assert read_model(place).trials == 910


def test_its_tasks_are_measured_here(records: Path, tmp_path: Path, command: Command) -> None:
    other = tmp_path / "random.db"
    words = ("bench", "gather", records, "--store", other, "--trials", 2, "--every", 7)
    gathered = command(*words, "--json")
    assert gathered.json["trials"] == 2
    assert gathered.json["tasks"] == 1
    # A long name of the store wraps the line.
    assert " ".join(command(*words).out.split()).endswith(": 2 trials of 1 task")
    half = command(*words[:-4], "--trials", 1, "--every", 7, "--dtype", "float16", "--json")
    assert half.json["trials"] == 1, "of the tasks that were asked for"
    refused = command("bench", "gather", records, "--every", 0)
    assert refused.complaint == "--every must be 1 or more, not 0"


def test_its_tasks_are_measured_in_another_type(
    records: Path, tmp_path: Path, command: Command
) -> None:
    other = tmp_path / "half.db"
    words = ("bench", "gather", records, "--store", other, "--trials", 1, "--every", 7)
    assert command(*words, "--dtype", "float16", "--json").json["trials"] == 1
    with open_store(other) as opened:
        (summary,) = opened.tasks()
    assert "dtype=float16" in summary.key
    refused = command(*words, "--dtype", "float12")
    assert refused.code == 2
    assert "dtype must be one of float32, " in refused.complaint


@pytest.mark.usefixtures("no_gpu")
def test_a_gpu_is_needed_where_it_is_named(records: Path, tmp_path: Path, command: Command) -> None:
    words = ("bench", "gather", records, "--store", tmp_path / "gpu.db", "--target", "cuda")
    refused = command(*words)
    assert refused.code == 2
    assert "--target cpu needs no GPU" in refused.complaint


def test_trials_of_another_machine(store: Path, tmp_path: Path, command: Command) -> None:
    with open_store(store) as opened:
        add_trials(opened, 64, 20)
        (session,) = opened.sessions(task(64).key)
    here = session.machine["fingerprint"]
    words = ("bench", "training-set", tmp_path / "set.json.gz", "--store", store)
    missing = command(*words, "--machine", "0123")
    assert missing.complaint.startswith(f"{store} has no trials of tasks by machine 0123, but by")
    assert missing.complaint.endswith(": choose theirs, or tune some first")
    assert here in missing.complaint
    assert command(*words, "--machine", here, "--network", "dqn", "--json").json["trials"] == 20
    assert "of one machine" in command(*words, "--machine", "*").complaint


def test_the_networks_of_operators_are_named(store: Path, tmp_path: Path, command: Command) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    with open_store(store) as opened:
        add_trials(opened, 64, 20)
    place = tmp_path / "set.json.gz"
    written = command("bench", "training-set", place, "--store", store, "--network", "dqn")
    assert written.code == 0, written.err
    assert read_training_set(place).series[0].networks == frozenset()
    unknown = command("bench", "training-set", place, "--store", store, "--network", "dqm")
    assert "unknown network 'dqm'" in unknown.err
