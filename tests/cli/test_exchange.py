"""``tunesmith export`` and ``import`` as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.exchange.test_files import written
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import open_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "one.db"
    with open_store(path) as opened:
        written(opened)
        session = opened.begin_session("other@cpu", tuner="random", seed=1)
        opened.add([])
        assert session.uid
    return path


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz", "all.parquet"])
def test_there_and_back(name: str, store: Path, tmp_path: Path, command: Command) -> None:
    file = tmp_path / name
    found = command("export", "-o", file, "--store", store, "--json").json
    assert found == {"tasks": ["task@cpu", "other@cpu"], "records": 3, "file": str(file)}
    other = tmp_path / "other.db"
    assert command("import", file, "--store", other, "--json").json == {"added": 3, "known": 0}
    again = command("import", file, "--store", other)
    assert again.out == "0 records added, 3 were there already\n"
    with open_store(store) as first, open_store(other) as second:
        records = [list(each.records("task@cpu", play_off=None)) for each in (first, second)]
    assert records[0] == records[1]


def test_some_tasks(store: Path, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "some.jsonl"
    words = ["export", "-o", file, "--store", store, "--this-machine"]
    assert command(*words, "--task", "task*").out == f"3 records of 1 task: {file}\n"
    assert len(file.read_text().splitlines()) == 5
    assert command(*words, "--task", "other@cpu", "--json").json["records"] == 0
    refused = command(*words, "--task", "tusk@cpu")
    assert refused.code == 2
    assert "unknown task 'tusk@cpu': did you mean task@cpu" in refused.err


def test_what_only_other_machines_have_measured(tmp_path: Path, command: Command) -> None:
    there = tmp_path / "there.db"
    with open_store(there) as opened:
        session = opened.begin_session(
            "task@cpu", tuner="random", seed=1, machine={"fingerprint": "another"}
        )
        opened.append(session, [Measurement(Config({"x": 1}), Outcome.NO_ERROR, (1.0,))])
    text = command("history", "--store", there).out
    assert text == (
        "nothing is recorded on this machine: --all-machines lists the runs of others, too\n"
    )
    assert command("history", "--store", there, "--all-machines").out.startswith("task@cpu\n")
    refused = command("export", "-o", tmp_path / "x.jsonl", "--store", there, "--this-machine")
    assert "the store has no records to export" in refused.err
    assert command("export", "-o", tmp_path / "x.jsonl", "--store", there).code == 0


def test_what_cannot_be_done(store: Path, tmp_path: Path, command: Command) -> None:
    refused = command("export", "-o", tmp_path / "all.csv", "--store", store)
    assert refused.code == 2
    assert "is of no format that is known: name a file that ends in .jsonl" in refused.err
    with open_store(tmp_path / "empty.db"):
        pass
    refused = command("export", "-o", tmp_path / "x.jsonl", "--store", tmp_path / "empty.db")
    assert "the store has no records to export" in refused.err
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"of": 0}) + "\n")
    refused = command("import", broken, "--store", tmp_path / "new.db")
    assert refused.code == 1
    assert f"line 1 of {broken} is no record: give a file that Tunesmith wrote" in refused.err
    assert not (tmp_path / "new.db").exists()


def test_schedules_for_tvm(tmp_path: Path, command: Command) -> None:
    """Tuned, exported as a database of MetaSchedule, and imported again."""
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    store, folder = tmp_path / "tuning.db", tmp_path / "database"
    words = ["matmul", "--m", 32, "--n", 32, "--k", 32, "--trials", 4, "--store", store, "--json"]
    tuned = command("tune", *words, "--sketch", "cpu_tiled", "--no-prior").json
    command("tune", *words, "--sketch", "gemm")
    export = ["export", "--format", "metaschedule", "--store", store]
    ran = command(*export, "-o", folder, "--json")
    assert {name: ran.json[name] for name in ("records", "functions", "left_out", "file")} == {
        "records": 1,
        "functions": 3,
        "left_out": {},
        "file": str(folder),
    }
    assert ran.json["tasks"] == [tuned["task"]]
    if ran.json["faster"]:
        assert "cpu_gemm has a faster program, without a trace" in ran.err
    assert len(JSONDatabase(work_dir=str(folder), allow_missing=False)) == 3

    other = tmp_path / "other.db"
    assert command("import", folder, "--store", other, "--json").json == {"added": 2, "known": 0}
    assert command("import", folder, "--store", store, "--json").json == {"added": 0, "known": 2}
    best = command("best", "--task", tuned["task"], "--store", other, "--json").json["best"]
    shares = command("best", "--task", tuned["task"], "--store", store, "--json").json["sketches"]
    assert best["seconds"] == pytest.approx(shares["cpu_tiled"]["best_seconds"])

    refused = command(*export, "-o", folder)
    assert refused.code == 2
    assert "has a database of MetaSchedule: name another folder" in refused.err
    refused = command(*export, "-o", store)
    assert refused.code == 1
    assert "tuning.db is not a folder" in refused.err
    refused = command(*export, "-o", tmp_path / "x", "--task", "conv*")
    assert refused.code == 2
    assert "unknown task 'conv*'" in refused.err


def test_programs_without_a_trace_are_not_exported(tmp_path: Path, command: Command) -> None:
    store, folder = tmp_path / "tuning.db", tmp_path / "database"
    words = ["tune", "matmul", "--m", 32, "--n", 32, "--k", 32, "--sketch", "gemm", "--trials", 1]
    assert command(*words, "--store", store).code == 0
    refused = command("export", "--format", "metaschedule", "-o", folder, "--store", store)
    assert refused.code == 2
    assert "1 task left out: cpu_gemm schedules no definition of the operator" in refused.err
    assert "no task has a schedule to export: tune with --sketch tiled" in refused.err
    assert not folder.exists()


def test_a_database_that_lacks_a_file(tmp_path: Path, command: Command) -> None:
    from tunesmith.exchange.metaschedule.names import RECORDS

    (tmp_path / RECORDS).write_text("")
    refused = command("import", tmp_path, "--store", tmp_path / "new.db")
    assert refused.code == 1
    assert "has no database_workload.json: a database of MetaSchedule is two files" in refused.err
    (tmp_path / "empty").mkdir()
    refused = command("import", tmp_path / "empty", "--store", tmp_path / "new.db")
    assert "is a folder without a database of MetaSchedule: name a file" in refused.err
