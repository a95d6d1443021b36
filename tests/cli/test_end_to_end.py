"""From naming an operator to its kernel: tune, continue, look at what was found, use it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tunesmith as ts
from tests.cli.command import Ran, assert_sound, configs_in, only_object, trials_in, tunesmith
from tests.cli.conftest import Command

pytestmark = pytest.mark.slow

TASK = ["matmul", "--m", "32", "--n", "32", "--k", "32"]
QUICK = ["--tuner", "random", "--repeats", "2", "--min-repeat-ms", "1"]
KEY_PARTS = ("matmul", "m=32", "n=32", "k=32", "@cpu")
# LLVM-IR names some things by where they lie in the memory of the compiler.
_ADDRESS = re.compile("0x[0-9a-f]+")
PHASES = ("search", "build", "run", "record", "idle")


@dataclass(frozen=True)
class Tuned:
    """A store after two calls of ``tune``.

    ``first`` and ``second`` are what these printed, ``best`` what was known after the first, and
    ``report`` the page that the second wrote.
    """

    store: Path
    first: Ran
    best: Ran
    second: Ran
    report: Path


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuned]:
    folder = tmp_path_factory.mktemp("tuned")
    store, report = folder / "a folder" / "tuning.db", folder / "run.html"
    words = ["tune", *TASK, *QUICK, "--store", str(store), "--json"]
    first = tunesmith(*words, "--trials", "5")
    best = tunesmith("best", *TASK, "--store", store, "--json")
    second = tunesmith(*words, "--trials", "8", "--report", report)
    yield Tuned(store, first, best, second, report)


# --- tune


def test_one_json_object_and_nothing_else(tuned: Tuned) -> None:
    found = only_object(tuned.first.out)
    assert list(found) == [
        "task",
        "target",
        "trials",
        "valid",
        "repeated",
        "outcomes",
        "time",
        "default",
        "best",
        "stopped",
        "resumed",
        "shared",
        "sketches",
    ]
    assert all(part in found["task"] for part in KEY_PARTS)
    assert found["target"]["kind"] == "llvm"
    assert (found["trials"], found["resumed"], found["stopped"]) == (5, 0, "trials")
    assert found["valid"] == found["outcomes"]["NO_ERROR"]
    assert sum(found["outcomes"].values()) == 5
    for name in ("default", "best"):
        kernel = found[name]
        assert kernel["gflops"] == pytest.approx(2 * 32**3 / kernel["seconds"] / 1e9)
        assert kernel["config"]
    assert found["best"]["seconds"] <= found["default"]["seconds"]


def test_the_time_adds_up(tuned: Tuned) -> None:
    time = tuned.first.json["time"]
    assert list(time) == [*PHASES, "total"]
    assert time["build"] > 0.0
    assert time["run"] > 0.0
    # What goes on while programs are built counts as both, so there may be a little more.
    spent = sum(time[phase] for phase in PHASES)
    assert time["total"] * 0.999 <= spent <= time["total"] + time["search"] + time["record"]


def test_progress_goes_to_standard_error(tuned: Tuned) -> None:
    lines = tuned.first.err.splitlines()
    assert all(line.startswith("trial ") for line in lines[::2])
    assert all(line.startswith("  time: search ") for line in lines[1::2])
    assert lines[-2].startswith("trial 5 of 5, best ")
    assert "invalid" in lines[-2]


def test_a_second_call_continues(tuned: Tuned) -> None:
    found = tuned.second.json
    assert (found["trials"], found["resumed"]) == (8, 5)
    assert trials_in(tuned.store) == 8
    assert_sound(tuned.store)
    assert configs_in(tuned.store, play_off=True).total() >= 2


def test_a_fresh_call_begins_anew_and_prints_tables(tuned: Tuned, store: Path) -> None:
    store.write_bytes(tuned.store.read_bytes())
    ran = tunesmith("tune", *TASK, *QUICK, "--store", store, "--trials", "2", "--fresh")
    assert ran.code == 0
    assert "2 trials (2 valid, 0 of them from earlier runs)" in ran.out
    assert "the budget of trials is used up" in ran.out
    for word in ("default schedule", "best found", "GFLOP/s"):
        assert word in ran.out
    assert trials_in(store) == 10


def test_the_report_of_a_run(tuned: Tuned) -> None:
    page = tuned.report.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "matmul" in page
    assert "tunesmith tune matmul --m 32" in page


# --- The commands that look at what there is


def test_best_says_what_the_run_said(tuned: Tuned) -> None:
    found, told = tuned.best.json, tuned.first.json
    assert list(found) == [
        name for name in told if name not in ("repeated", "stopped", "resumed", "shared")
    ]
    for name in ("task", "target", "trials", "valid", "outcomes", "default", "best"):
        assert found[name] == told[name]
    assert found["time"] == pytest.approx(told["time"], rel=0.05)


def test_best_counts_the_time_of_its_sketch_alone(
    tuned: Tuned, store: Path, command: Command
) -> None:
    store.write_bytes(tuned.store.read_bytes())
    words = ["best", *TASK, "--store", store, "--json"]
    before = command(*words).json
    with ts.open_store(store) as opened:
        session = opened.begin_session(before["task"], tuner="random", seed=0, sketch="other")
        opened.finish_session(session, stopped="trials", time_split={"build": 1000.0})
    assert command(*words).json == before


def test_best_of_several_runs(tuned: Tuned, command: Command) -> None:
    found = command("best", *TASK, "--store", tuned.store, "--json").json
    assert (found["trials"], found["outcomes"]) == (8, tuned.second.json["outcomes"])
    runs = [tuned.first.json["time"], tuned.second.json["time"]]
    for phase in PHASES:
        assert found["time"][phase] == pytest.approx(sum(run[phase] for run in runs))
    text = command("best", *TASK, "--store", tuned.store).out
    assert "best found" in text
    assert "default schedule" in text
    assert json.loads(text.splitlines()[-1]) == found["best"]["config"]
    assert text.splitlines()[-2] == f"sketch {found['best']['sketch']}"


def test_history(tuned: Tuned, command: Command) -> None:
    for words in ([], TASK):
        runs = command("history", *words, "--store", tuned.store, "--json").json["runs"]
        assert [run["trials"] for run in runs] == [5, 3]
        for run in runs:
            assert run["task"] == tuned.first.json["task"]
            assert (run["tuner"], run["seed"], run["stopped"]) == ("random", 0, "trials")
            assert run["started"] < run["finished"]
            assert run["sketch"] in run["sketches"]
            assert sum(run["sketches"].values()) == run["trials"]
            assert run["default_seconds"] > 0.0
            assert run["gflops"] == pytest.approx(2 * 32**3 / run["best_seconds"] / 1e9)
            assert list(run["time"]) == sorted(PHASES)
    text = command("history", "--store", tuned.store).out
    assert text.startswith(tuned.first.json["task"])
    assert text.count("random") == 2
    other = ["matmul", "--m", "8", "--n", "8", "--k", "8"]
    assert command("history", *other, "--store", tuned.store, "--json").json == {"runs": []}


def test_space(tuned: Tuned, command: Command) -> None:
    words = ["space", *TASK, "--samples", "2", "--seed", "4", "--sketch", "cpu_tiled"]
    found = command(*words, "--json").json
    assert list(found) == ["task", "sketch", "size", "parameters", "constraints", "samples"]
    product = int(np.prod([parameter["cardinality"] for parameter in found["parameters"]]))
    assert 0 < found["size"] <= product
    known = {parameter["name"] for parameter in found["parameters"]}
    assert len(found["samples"]) == 2
    assert all(set(sample) == known for sample in found["samples"])
    assert set(tuned.first.json["default"]["config"]) == known
    assert command(*words, "--json").json == found, "the same seed shows the same samples"
    text = command(*words).out
    assert f"{found['size']:,} configs" in text
    assert all(name in text for name in known)
    assert text.count("sample: ") == 2


def test_operators(command: Command) -> None:
    found = command("operators", "--json").json
    names = [row["name"] for row in found["operators"]]
    assert names == list(ts.operators.operator_names())
    assert "resnet18.C8" in found["layers"]
    (conv,) = command("operators", "conv2d", "--json").json["operators"]
    assert {"stride", "padding", "groups"} <= {option["name"] for option in conv["options"]}
    text = command("operators").out
    assert all(f"{name}: " in text for name in names)
    assert "resnet18.C8" in text
    assert "layers: " not in command("operators", "conv2d").out


def test_tuners(command: Command) -> None:
    found = command("tuners", "--json").json["tuners"]
    assert {"genetic", "grid", "random"} <= {row["name"] for row in found}
    (genetic,) = (row for row in found if row["name"] == "genetic")
    assert genetic["package"] == "tunesmith"
    assert {"name": "population", "type": "int", "default": 100}.items() <= next(
        option for option in genetic["options"] if option["name"] == "population"
    ).items()
    assert "population=100" in command("tuners").out


@pytest.mark.parametrize(
    ("form", "mark"), [("tvmscript", "@T.prim_func"), ("llvm", "define "), ("asm", ".L")]
)
def test_show(tuned: Tuned, command: Command, form: str, mark: str) -> None:
    words = ["show", *TASK, "--store", tuned.store, "--form", form]
    best = command(*words)
    assert best.code == 0
    assert mark in best.out
    found = command(*words, "--json").json
    assert _ADDRESS.sub("", found["text"] + "\n") == _ADDRESS.sub("", best.out)
    known = command("best", *TASK, "--store", tuned.store, "--json").json
    assert found["config"] == known["best"]["config"]
    default = command(*words, "--config", "default", "--json").json
    assert default["config"] == known["default"]["config"]
    given = json.dumps(found["config"])
    assert _ADDRESS.sub("", command(*words, "--config", given).out) == _ADDRESS.sub("", best.out)


def test_show_the_hot_loop_or_all_of_the_assembly(tuned: Tuned, command: Command) -> None:
    words = ["show", *TASK, "--store", tuned.store, "--form", "asm", "--config", "default"]
    loop, whole = command(*words).out, command(*words, "--whole").out
    assert set(loop.split("\n")) <= set(whole.split("\n"))
    assert len(loop) < len(whole)


@pytest.mark.usefixtures("c_compiler")
def test_build(tuned: Tuned, command: Command, tmp_path: Path) -> None:
    library = tmp_path / "new" / "matmul.so"
    words = ["build", *TASK, "--store", tuned.store, "-o", library]
    found = command(*words, "--json").json
    known = command("best", *TASK, "--store", tuned.store, "--json").json
    assert found["config"] == known["best"]["config"]
    files = found["files"]
    assert files["library"] == str(library)
    assert "matmul" in Path(files["header"]).read_text(encoding="utf-8")
    description = json.loads(Path(files["description"]).read_text(encoding="utf-8"))
    assert [argument["shape"] for argument in description["arguments"]] == [[32, 32], [32, 32]]
    kernel = ts.Kernel.load(library)
    inputs = kernel.operator.make_inputs(seed=1)
    np.testing.assert_allclose(kernel(*inputs), kernel.operator.reference(*inputs), rtol=1e-4)
    assert command(*words).out.split() == list(files.values())


def test_report(tuned: Tuned, command: Command, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    words = ["report", *TASK, "--store", tuned.store, "-o", page]
    assert command(*words, "--json").json == {
        "task": tuned.first.json["task"],
        "report": str(page),
    }
    assert "matmul" in page.read_text(encoding="utf-8")
    assert command(*words).out == f"report: {page}\n"
    new = tmp_path / "new" / "report.html"
    assert command(*words[:-1], new).code == 0
    assert new.is_file()
    nowhere = command(*words[:-1], page / "report.html")
    assert "cannot write the report" in nowhere.complaint
    assert nowhere.code == 1


# --- Python


def test_python_continues_what_the_command_line_began(
    tuned: Tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the user's own store, which is that of a task unless another is named."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    store = tmp_path / "tunesmith" / "records.db"
    store.parent.mkdir()
    store.write_bytes(tuned.store.read_bytes())
    task = ts.Task(ts.operators.matmul(m=32, n=32, k=32), target="cpu")
    result = ts.tune(task, tuner="genetic", budget=ts.Budget(trials=9))
    assert (result.resumed, result.trials, result.stopped) == (8, 9, ts.Stop.TRIALS)
    assert_sound(store)
    assert result.best is not None
    kernel = result.best.compile()
    inputs = task.operator.make_inputs(seed=2)
    expected: Any = task.operator.reference(*inputs)
    np.testing.assert_allclose(kernel(*inputs), expected, rtol=1e-4)
