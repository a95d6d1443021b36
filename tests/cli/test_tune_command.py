"""``tunesmith tune-command``: any command line, no TVM."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.command import Process, assert_sound, configs_in, trials_in, tunesmith, write_spec
from tests.cli.conftest import Command


def test_the_example(command: Command, tmp_path: Path, store: Path) -> None:
    """The cost is 1 + n/1000, so the least n wins."""
    spec = write_spec(tmp_path, size=8)
    words = ["tune-command", spec, "--store", store, "--tuner", "grid", "--json"]
    found = command(*words).json
    assert found["task"].startswith("command:for the test:")
    assert (found["target"], found["stopped"]) == (None, "exhausted")
    assert (found["trials"], found["valid"], found["outcomes"]) == (8, 8, {"NO_ERROR": 8})
    assert found["best"] == {"seconds": 1.0, "gflops": None, "config": {"n": 0}}
    assert found["default"] == {"seconds": 1.004, "gflops": None, "config": {"n": 4}}
    again = command(*words).json
    assert (again["resumed"], again["trials"], again["best"]) == (8, 8, found["best"])
    fresh = command(*words, "--fresh", "--trials", "3").json
    assert (fresh["resumed"], fresh["trials"]) == (0, 3)
    assert trials_in(store) == 11


def test_tables(command: Command, tmp_path: Path, store: Path) -> None:
    ran = command("tune-command", write_spec(tmp_path, size=4), "--store", store)
    assert ran.code == 0
    assert "4 trials (4 valid, 0 of them from earlier runs)" in ran.out
    assert "no further config was found" in ran.out
    assert "best found" in ran.out
    text = command("history", "--store", store).out
    assert text.startswith("command:for the test:")


def test_the_spec_says_how_to_tune_unless_the_words_do(
    command: Command, tmp_path: Path, store: Path
) -> None:
    spec = write_spec(tmp_path, size=30)
    with spec.open("a") as file:
        file.write('[tune]\ntuner = "grid"\ntrials = 4\nseed = 5\n')
    words = ["tune-command", spec, "--store", store, "--json"]
    assert command(*words).json["trials"] == 4
    assert command(*words, "--tuner", "random", "--seed", "6", "--trials", "7").json["trials"] == 7
    runs = command("history", "--store", store, "--json").json["runs"]
    assert [(run["tuner"], run["seed"], run["trials"]) for run in runs] == [
        ("grid", 5, 4),
        ("random", 6, 3),
    ]
    assert set(configs_in(store)) >= {json.dumps({"n": n}, separators=(",", ":")) for n in range(3)}


def test_all_trials_fail(command: Command, tmp_path: Path, store: Path) -> None:
    spec = write_spec(tmp_path, program="print({n} / 0)", size=3)
    ran = command("tune-command", spec, "--store", store, "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert (found["valid"], found["best"], found["default"]) == (0, None, None)
    assert found["outcomes"] == {"RUNTIME_DEVICE": 3}
    assert ran.err.splitlines()[-1].startswith("tunesmith: no valid config was found in 3 trials")
    text = command("tune-command", spec, "--store", store).out
    assert "best found" not in text


def test_a_target_and_patience(command: Command, tmp_path: Path, store: Path) -> None:
    words = ["tune-command", write_spec(tmp_path, size=50), "--tuner", "grid", "--json"]
    target = command(*words, "--store", store, "--target-seconds", "1.0").json
    assert (target["stopped"], target["trials"]) == ("target", 2), "the default, then n = 0"
    patience = command(*words, "--store", store, "--patience", "3").json
    assert (patience["stopped"], patience["resumed"], patience["trials"]) == ("patience", 2, 5)


def test_a_task_by_its_key(command: Command, tmp_path: Path, store: Path) -> None:
    spec = write_spec(tmp_path, size=6)
    tune = ["tune-command", spec, "--store", store, "--tuner", "grid", "--json", "--trials"]
    assert command(*tune, "3").json["best"]["config"] == {"n": 0}
    told = command(*tune, "6").json
    words = ["--task", told["task"], "--store", store]
    best = command("best", *words, "--json").json
    for name in ("task", "target", "trials", "valid", "outcomes", "default", "best"):
        assert best[name] == told[name]
    text = command("best", *words).out
    assert text.startswith(told["task"])
    assert '{"n":0}' in text
    runs = command("history", *words, "--json").json["runs"]
    assert [run["trials"] for run in runs] == [3, 3]
    first, second = (run["best_seconds"] for run in runs)
    # The second run's play-off has the first one's best, if commands start fast enough for there
    # to be one; that of the first run has it, too.
    in_play_offs = configs_in(store, play_off=True)['{"n":0}']
    assert (first, second) == (1.0, 1.0 if in_play_offs == 2 else 1.002)
    for run in runs:
        assert (run["sketch"], run["gflops"], run["default_seconds"]) == ("", None, 1.003)
    assert command("history", *words).out.startswith(told["task"])
    wrong = command("best", "--task", told["task"][:-1], "--store", store)
    assert wrong.complaint == (f"unknown task '{told['task'][:-1]}': did you mean {told['task']}?")
    assert wrong.code == 2


def test_a_store_in_a_folder_that_is_not_there(command: Command, tmp_path: Path) -> None:
    store = tmp_path / "a" / "new folder" / "tuning.db"
    words = ["tune-command", write_spec(tmp_path, size=3), "--store", store]
    assert command(*words).code == 0
    assert trials_in(store) == 3


def test_without_a_store_records_go_to_the_users_data(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert command("tune-command", write_spec(tmp_path, size=3)).code == 0
    assert trials_in(tmp_path / "tunesmith" / "records.db") == 3
    assert len(command("history", "--json").json["runs"]) == 1


def test_two_at_once_on_one_store(tmp_path: Path, store: Path) -> None:
    """Each does its own trials, and both sets are there."""
    words = ["tune-command", write_spec(tmp_path, size=40), "--store", store, "--json"]
    fresh = [*words, "--fresh", "--tuner", "random", "--trials", "15", "--seed"]
    one, two = (Process.start([*fresh, seed]) for seed in "12")
    with one.cleaned_up(), two.cleaned_up():
        assert [one.wait().json["trials"], two.wait().json["trials"]] == [15, 15]
    assert trials_in(store) == 30
    assert max(configs_in(store).values()) <= 2, "each run tries a config once"
    third = tunesmith(*words, "--trials", "35").json
    assert (third["resumed"], third["trials"]) == (30, 35)


def test_two_at_once_that_continue_a_third(tmp_path: Path, store: Path) -> None:
    spec = write_spec(tmp_path, size=40)
    words = ["tune-command", spec, "--store", store, "--tuner", "grid", "--json", "--trials"]
    assert tunesmith(*words, "10").json["trials"] == 10
    assert_sound(store)
    known = configs_in(store)
    both = [Process.start([*words, "20"]) for _ in range(2)]
    with both[0].cleaned_up(), both[1].cleaned_up():
        found = [process.wait().json for process in both]
    added: Counter[str] = configs_in(store) - known
    assert added.total() == sum(it["trials"] - it["resumed"] - it["shared"] for it in found)
    assert not known.keys() & added.keys(), "neither repeats what it found there"
    assert max(added.values()) == 1, "nor what the other one tries"
    assert all(it["trials"] >= 20 for it in found)
