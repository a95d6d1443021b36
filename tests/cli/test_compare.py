"""``tunesmith compare`` as a command, on small recorded spaces."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.bench.compare.records import install_faulty, record
from tests.cli.command import Process, eventually, tunesmith, write_spec
from tests.cli.conftest import Command

FIGURES = {
    *("compare-scores.svg", "compare-time.svg", "compare-trials.svg", "compare-speed-up.svg"),
    *("compare-time-split.svg", "compare-outcomes.svg", "compare-outcome-times.svg"),
}


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuner ``faulty``, in all processes that are started."""
    folder = tmp_path / "site"
    folder.mkdir()
    path = os.pathsep.join([str(install_faulty(folder)), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))


def words(folder: Path, *tuners: str, repeats: int = 2) -> list[Any]:
    """A command line without its problems."""
    named = [word for tuner in tuners for word in ("--tuners", tuner)]
    return ["compare", *named, "--repeats", repeats, "-o", folder / "out"]


def saved(folder: Path) -> dict[str, int]:
    """When each run in the folder was saved."""
    runs = (folder / "out" / "runs").glob("*.npz")
    return {path.name: path.stat().st_mtime_ns for path in runs}


def test_a_comparison_of_two_tuners_on_two_spaces(tmp_path: Path, command: Command) -> None:
    record(tmp_path, "one"), record(tmp_path, "two")
    problems = ["--problems", f"{tmp_path}/*/gpu.json.gz"]
    figures = command(
        *words(tmp_path, "random", "genetic:population=8", repeats=3), *problems, "--json"
    ).json
    rows = {(row["tuner"], row["problem"]): row for row in figures["rows"]}
    assert len(rows) == 4
    row = rows["genetic:population=8", "two/gpu"]
    assert (row["repeats"], row["crashed"]) == (3, 0)
    assert -20 < row["score"] <= 1
    assert row["score_std"] >= 0
    assert row["score_matched"] != row["score"]
    assert 0 < row["thinking_ms_per_config"] < 1e3
    assert 0 <= row["invalid_rate"] < 0.5
    assert figures["settings"]["repeats"] == 3
    assert figures["crashes"] == []
    out = tmp_path / "out"
    assert {path.name for path in out.glob("*.svg")} == FIGURES
    assert json.loads((out / "compare.json").read_text()) == figures
    page = (out / "compare.md").read_text()
    assert "## one/gpu" in page
    assert "genetic:population=8" in (out / "compare.html").read_text()
    assert len(saved(tmp_path)) == 12


def test_a_tuner_with_twice_the_trials(tmp_path: Path, command: Command) -> None:
    line = [*words(tmp_path, "random", "random*2"), "--problems", record(tmp_path)]
    figures = command(*line, "--trials", 10, "--json").json
    rows = {row["tuner"]: row for row in figures["rows"]}
    assert set(rows) == {"random", "random×2"}
    assert [rows[name]["evaluations"] for name in rows] == [10, 10]
    tried = {name: sum(row["outcomes"].values()) for name, row in rows.items()}
    assert tried == {"random": 20, "random×2": 40}, "of two repeats"
    assert rows["random×2"]["score"] > rows["random"]["score"], "the same configs, and more"
    out = tmp_path / "out"
    assert "| random×2 |" in (out / "compare.md").read_text()
    for name in ("compare-time.svg", "compare-trials.svg", "compare-speed-up.svg"):
        assert "random×2" in (out / name).read_text()


def test_a_tuner_whose_random_start_is_the_run_is_told_of(tmp_path: Path, command: Command) -> None:
    line = [*words(tmp_path, "genetic", "random"), "--problems", record(tmp_path), "--trials", 10]
    done = command(*line)
    assert done.code == 0, done.err
    assert done.err.count("configs are random") == 1
    assert (
        "tuner 'genetic': its first 100 configs are random, so a run of 10 trials is random "
        "search: try more trials" in " ".join(done.err.split())
    )


def test_a_comparison_goes_on(tmp_path: Path, command: Command) -> None:
    problems = ["--problems", record(tmp_path)]
    first = command(*words(tmp_path, "random"), *problems)
    assert first.code == 0, first.err
    assert "# Tuners compared" in first.out
    assert "run 2 of 2" in first.err
    before = saved(tmp_path)
    second = command(*words(tmp_path, "random", "grid", repeats=3), *problems, "--json")
    assert [row["repeats"] for row in second.json["rows"]] == [3, 3]
    assert "2 from before" in second.err
    after = saved(tmp_path)
    assert len(after) == 6
    assert {name: after[name] for name in before} == before
    third = command(*words(tmp_path, "random", "grid", repeats=3), *problems, "--fresh")
    assert "from before" not in third.err
    assert {name for name, time in saved(tmp_path).items() if time != after[name]} == set(after)


def test_a_config_that_is_not_on_record_is_no_failure(tmp_path: Path, command: Command) -> None:
    half = record(tmp_path, kept=lambda config: (config["a"], config["b"]) > (5, 0))
    line = [*words(tmp_path, "random", "opevo"), "--problems", half, "--trials", 40]
    for row in command(*line, "--json").json["rows"]:
        assert row["outcomes"] == {"NO_ERROR": 80}, "of two repeats"
        assert row["invalid_rate"] == 0.0


@pytest.mark.usefixtures("faulty")
def test_a_tuner_that_crashes(tmp_path: Path) -> None:
    problems = ["--problems", record(tmp_path)]
    ran = tunesmith(*words(tmp_path, "faulty", "random", repeats=4), *problems)
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err
    assert "- faulty: 2 runs crashed: ValueError: no parents (faulty_tuner.py:37)" in ran.out
    assert "2, 2 crashed |" in ran.out
    assert "2 crashed" in ran.err
    assert len(saved(tmp_path)) == 6


@pytest.mark.usefixtures("faulty")
def test_a_tuner_that_cannot_search_a_space(tmp_path: Path) -> None:
    """The line names the tuner, the problem and the parameter."""
    problems = ["--problems", record(tmp_path)]
    ran = tunesmith(*words(tmp_path, "random", "faulty:way=refuse"), *problems)
    assert ran.complaint == (
        "tuner 'faulty:way=refuse' cannot search one/gpu: parameter 'a' has no neighbours"
    )
    assert ran.code == 2
    assert not (tmp_path / "out").exists()
    tuned = tunesmith(
        *("tune-command", write_spec(tmp_path), "--store", tmp_path / "tuning.db"),
        *("--tuner", "faulty", "--tuner-option", "way=refuse"),
    )
    assert tuned.complaint.startswith("tuner 'faulty' cannot search command:for the test:")
    assert tuned.complaint.endswith(": parameter 'a' has no neighbours")
    assert tuned.code == 2


@pytest.mark.usefixtures("faulty")
def test_only_crashes(tmp_path: Path) -> None:
    ran = tunesmith(
        *words(tmp_path, "faulty:way=die", repeats=1),
        *("--problems", record(tmp_path), "--seed", 1),
    )
    assert ran.code == 1
    assert "tunesmith: every run crashed: its process is gone" in ran.err
    assert "0, 1 crashed |" in ran.out


@pytest.mark.usefixtures("faulty")
def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    record(tmp_path)
    line = [
        *words(tmp_path, "faulty:way=slow", repeats=40),
        "--problems",
        tmp_path / "one/gpu.json.gz",
    ]
    process = Process.start(line)
    with process.cleaned_up():
        eventually(lambda: len(saved(tmp_path)) >= 3, "three runs are saved")
        process.interrupt()
        ran = process.wait()
        eventually(lambda: process.family() == [], "nothing of it is left")
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "tunesmith: interrupted; every finished trial is saved"
    done = saved(tmp_path)
    rows = json.loads((tmp_path / "out" / "compare.json").read_text())["rows"]
    assert 3 <= rows[0]["repeats"] <= len(done) < 40
    again = tunesmith(*words(tmp_path, "faulty:way=slow", repeats=3), *line[-2:], "--json")
    assert again.json["rows"][0]["repeats"] == 3
    assert {name: saved(tmp_path)[name] for name in done} == done


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--tuners", "grid"], "no problem to compare on: name one or more with --problems"),
        (["--problems", "T4"], "no tuner to compare: name one or more with --tuners"),
        (["--tuners", "gird", "--problems", "T4"], "unknown tuner 'gird': did you mean grid?"),
        (["--tuners", "grid*0", "--problems", "T4"], "tuner 'grid*0': the multiplier must be"),
        (["--tuners", "grid", "--problems", "resnet18.C77"], "unknown problem 'resnet18.C77'"),
        (["--tuners", "grid", "--problems", "no.json.gz"], "there is no such file"),
        (["--tuners", "grid", "--problems", "CUT"], "damaged or cut off"),
        (["--tuners", "grid", "--problems", "T4", "--repeats", "0"], "repeats must be 1 or more"),
        (["--tuners", "grid", "--problems", "T4", "--seconds", "0"], "seconds must be positive"),
        (["--tuners", "grid", "--problems", "matmul.512"], "give it --seconds or --trials"),
    ],
)
def test_bad_input(command: Command, tmp_path: Path, line: list[str], message: str) -> None:
    cut = record(tmp_path, "cut")
    cut.write_bytes(cut.read_bytes()[:-40])
    files = {"T4": record(tmp_path), "CUT": cut}
    given = [str(files.get(word, word)) for word in line]
    ran = command("compare", *given, "-o", tmp_path / "out")
    assert ran.code == 2
    assert message in ran.complaint
    assert not (tmp_path / "out").exists(), "nothing has run"


def test_an_output_that_is_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    ran = command(*words(tmp_path, "grid"), "--problems", record(tmp_path))
    assert ran.code == 1
    assert "cannot make the folder" in ran.complaint


def test_an_output_that_cannot_be_written_to(command: Command, tmp_path: Path) -> None:
    line = ["compare", "--tuners", "grid", "--problems", record(tmp_path)]
    ran = command(*line, "-o", "/proc/self")
    assert ran.complaint.startswith("cannot write to the folder /proc/self: ")
    assert ran.code == 1
    runs = tmp_path / "out" / "runs"
    runs.parent.mkdir()
    runs.write_text("")
    ran = command(*line, "-o", tmp_path / "out", "--fresh")
    assert ran.complaint.startswith("cannot ")
    assert str(runs) in ran.complaint
    assert ran.code == 1


def test_the_page_keeps_no_secret(tmp_path: Path, command: Command) -> None:
    place = f"sqlite:///{tmp_path}/t.db?password=opensesame"
    found = command(
        *words(tmp_path, "random", repeats=1), "--problems", record(tmp_path), "--store", place
    )
    assert found.code == 0
    assert "opensesame" not in (tmp_path / "out" / "compare.html").read_text()
