"""``tunesmith record``: spaces of tasks, measured here and replayed."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.command import Process, assert_sound, eventually, trials_in
from tests.cli.conftest import Command
from tests.measure.recorded.t4_files import T1, document, result
from tunesmith.bench.recording import record_space
from tunesmith.budget import Budget
from tunesmith.measure.recorded.replay import ReplayProblem
from tunesmith.tuning.tune import tune

MATMUL = ["record", "matmul", "--m", "8", "--n", "8", "--k", "8"]
WORDS = [*MATMUL, "--sketch", "cpu_tiled", "--repeats", "1"]
# Four configs are left: two orders of the outer loops by two of the middle ones.
FEW = [
    *("tile_i[2] == 8 and tile_j[0] == 8 and tile_k[0] == 8", "parallel == 1 and unroll == 1"),
    *("accumulate == 'tile' and vectorize == 'i'", "not pack_data", "not pack_weight"),
]
WHERE = [word for expression in FEW for word in ("--where", expression)]


def test_a_part_of_a_space_from_end_to_end(command: Command, tmp_path: Path, store: Path) -> None:
    output = tmp_path / "new" / "small.json.gz"
    words = [*WORDS, *WHERE, "--store", store, "--output", output]
    started = command(*words, "--seconds", "1e-6", "--json").json
    assert (started["configs"], started["trials"], started["recording"]) == (4, 1, None)
    assert not output.exists()
    text = command(*words, "--seconds", "1e-6")
    assert (text.code, text.out) == (0, "")
    assert "1 of 4 configs are measured (the time is up): the same command goes on" in text.err
    found = command(*words, "--json").json
    assert found["task"].startswith("matmul(m=8,n=8,k=8")
    assert found["sketch"]["name"] == "cpu_tiled"
    assert (found["configs"], found["trials"], found["valid"]) == (4, 4, 4)
    assert (found["outcomes"], found["stopped"]) == ({"NO_ERROR": 4}, "exhausted")
    assert found["recording"] == str(output)
    replay = ReplayProblem(output)
    assert (replay.complete, len(replay.configs)) == (True, 4)
    assert replay.seconds.min() == pytest.approx(found["best_seconds"], rel=1e-6)
    assert all(config["unroll"] == 1 for config in replay.configs)
    assert len({config["order_outer"] for config in replay.configs}) == 2
    result = tune(replay, "random", Budget(seconds=600))
    assert result.trials == 4
    written = output.read_bytes()
    table = command(*words)
    assert table.code == 0
    assert "4 configs (4 valid), whose trials took" in table.out
    assert "best" in table.out and "median" in table.out
    assert output.read_bytes() == written, "nothing was measured again"
    assert trials_in(store) == 4


def test_a_sample(command: Command, tmp_path: Path, store: Path) -> None:
    output = tmp_path / "sample.json"
    words = [*WORDS, "--sample", "3", "--seed", "4", "--store", store, "-o", output]
    assert command(*words, "--json").json["configs"] == 3
    replay = ReplayProblem(output)
    assert (len(replay.configs), replay.complete) == (3, False)
    metadata = json.loads(output.read_text())["metadata"]
    assert (metadata["sample"], metadata["seed"]) == (3, 4)
    other = command(*words, *WHERE)
    assert other.complaint == (
        f"{tmp_path / 'space.T1.json'} is another space: name a file in another folder"
    )
    assert other.code == 2


@pytest.mark.slow
def test_ctrl_c_and_on(tmp_path: Path, store: Path) -> None:
    output = tmp_path / "sample.json.gz"
    words = [*WORDS, "--sample", "25", "--store", store, "-o", output, "--json"]
    process = Process.start(words)
    with process.cleaned_up():
        eventually(lambda: trials_in(store) >= 2, "two trials")
        process.interrupt()
        ran = process.wait()
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "tunesmith: interrupted; every finished trial is saved"
    told = json.loads(ran.out)
    assert (told["stopped"], told["recording"]) == ("interrupted", None)
    assert 2 <= told["trials"] < 25
    assert not output.exists()
    process = Process.start(words)
    with process.cleaned_up():
        assert process.wait().json["trials"] == 25
    assert_sound(store)
    assert trials_in(store) == 25
    assert len(ReplayProblem(output).configs) == 25


BAD = [
    ([], "missing option '-o' / '--output' (see 'tunesmith record --help')"),
    (["-o", "a.txt"], "a.txt: a T4 file is called NAME.json.gz or NAME.json"),
    (["-o", "a.json", "--sample", "0"], "cannot record 0 configs: give a sample of 1 or more"),
    (["-o", "a.json", "--seed", "-1"], "the seed is -1: give 0 or more"),
    (["-o", "a.json", "--where", "tile_i[0] <"], "not Python syntax"),
    (["-o", "a.json", "--where", "tile[0] < 3"], "reads 'tile', which is none of the parameters"),
    (["-o", "a.json", "--where", "tile_i[9] < 3"], "tile_i[9] < 3"),
    (["-o", "a.json", "--where", "unroll > 999"], "no config of the space meets all constraints"),
    (["-o", "a.json", "--repeats", "0"], "repeats must be positive, not 0"),
    (["-o", "a.json", "--seconds", "0", "--sample", "2"], "seconds must be positive, not 0"),
    (["-o", "a.json", "--sampel", "3"], "did you mean sample?"),
]


@pytest.mark.parametrize(("words", "answer"), BAD)
def test_usage_mistakes(
    command: Command, store: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], answer: str
) -> None:
    monkeypatch.chdir(store.parent)
    ran = command(*WORDS, "--store", store, *words)
    assert ran.code == 2
    assert answer in ran.complaint
    assert not store.exists() or trials_in(store) == 0


def test_a_recording_is_of_one_sketch(command: Command, tmp_path: Path) -> None:
    ran = command(*MATMUL, "-o", tmp_path / "a.json")
    assert ran.complaint.startswith("a recording is of one sketch: name it with --sketch, one of ")
    assert "cpu_tiled" in ran.complaint
    assert ran.code == 2


def test_a_space_that_is_too_large(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_space, "LARGEST", 100)
    ran = command(*WORDS, "-o", tmp_path / "a.json")
    assert ran.complaint == (
        "the space has 20,480 configs, and no more than 100 can be recorded: measure a uniform "
        "sample (--sample 10000), or a part of the space (--where 'tile[0] <= 8')"
    )


OF_OTHERS = [
    ("a.json", "notes", "a.json: not JSON, or cut off: "),
    ("a.json", json.dumps(document([result()])), "a.json is another recording: "),
    ("space.T1.json", "notes", "space.T1.json: not JSON: "),
    ("space.T1.json", json.dumps(T1), "space.T1.json is another space: "),
]


@pytest.mark.parametrize(("name", "text", "answer"), OF_OTHERS)
def test_files_of_others_at_the_output(
    command: Command, store: Path, name: str, text: str, answer: str
) -> None:
    tmp_path = store.parent
    (tmp_path / name).write_text(text)
    ran = command(*WORDS, "--sample", "2", "--store", store, "-o", tmp_path / "a.json")
    assert answer in ran.complaint
    assert ran.complaint.endswith(": name a file in another folder")
    assert ran.code == 2
    assert (tmp_path / name).read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == [name], "nothing was measured"


@pytest.mark.parametrize("output", ["/proc/a.json", "/proc/new/a.json", "FILE/a.json"])
def test_an_output_that_cannot_be_written(
    command: Command, tmp_path: Path, store: Path, output: str
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    output = output.replace("FILE", str(file))
    ran = command(*WORDS, "--sample", "2", "--store", store, "-o", output)
    assert ran.complaint.startswith("cannot ")
    assert str(Path(output).parent) in ran.complaint
    assert ran.code == 1
    assert not store.exists(), "this is found out before hours of measuring"


def test_an_output_on_a_full_disk(
    command: Command, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "a.json.gz"
    words = [*WORDS, "--sample", "2", "--store", store, "-o", output]

    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr("tunesmith.measure.recorded.t4_writer.write_whole", full)
        ran = command(*words)
    assert ran.code == 1
    assert ran.err.splitlines()[-1].startswith(
        f"tunesmith: cannot write {output}: no space left on device: "
    )
    assert not output.exists()
    assert trials_in(store) == 2
    assert command(*words, "--json").json["trials"] == 2
    assert trials_in(store) == 2, "nothing is measured again"
    assert len(ReplayProblem(output).configs) == 2


def test_a_store_that_fails(command: Command, tmp_path: Path, store: Path) -> None:
    words = [*WORDS, "--sample", "20", "--store", store, "-o", tmp_path / "a.json"]
    command(*words, "--seconds", "1e-6")  # some are under way, and are recorded
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        connection.commit()
    ran = command(*words)
    assert ran.code == 1
    assert "tunesmith import" in ran.err.splitlines()[-1]
    assert not (tmp_path / "a.json").exists()
