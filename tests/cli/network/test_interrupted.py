"""``tunesmith network tune`` that ends before its time: nothing that was measured is lost."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.command import Process, assert_sound, configs_in, eventually, trials_in
from tests.cli.conftest import Command
from tests.networks.small_onnx import saved, small_model
from tunesmith.budget import Stop
from tunesmith.networks import tune as module


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(small_model(), tmp_path)


def tuning_of(model: Path, store: Path) -> list[object]:
    """A run that does not end by itself."""
    return ["network", "tune", model, "--seconds", 600, "--store", store, "--cores", 1, "--json"]


@pytest.mark.slow
def test_ctrl_c_keeps_all_and_shows_it(model: Path, store: Path) -> None:
    process = Process.start(tuning_of(model, store))
    with process.cleaned_up():
        eventually(lambda: trials_in(store) > 2, "trials are stored")
        process.interrupt()
        ran = process.wait()
        eventually(lambda: not process.family(), "all its processes have ended")
    assert "Traceback" not in ran.err
    assert ran.json["stopped"] == "interrupted"
    assert sum(task["trials"] for task in ran.json["tasks"]) == trials_in(store)
    assert_sound(store)


@pytest.mark.slow
def test_a_killed_run_goes_on(command: Command, model: Path, store: Path) -> None:
    process = Process.start(tuning_of(model, store))
    with process.cleaned_up():
        eventually(lambda: trials_in(store) > 2, "trials are stored")
        process.process.send_signal(signal.SIGKILL)
        process.wait()
        eventually(lambda: not process.family(), "all its processes have ended")
    before = configs_in(store)
    words = ["network", "tune", model, "--seconds", 4, "--store", store, "--cores", 1, "--json"]
    found = command(*words).json
    known = [task for task in found["tasks"] if task["before"] is not None]
    assert known, "the run begins with the times of the one that was killed"
    assert configs_in(store) >= before
    assert_sound(store)


def test_ctrl_c_before_a_trial(
    command: Command, model: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "tune", interrupted)
    found = command(*tuning_of(model, store)).json
    assert found["stopped"] == "interrupted"
    assert {task["trials"] for task in found["tasks"]} == {0}


def test_a_store_that_fails_is_told_with_what_was_rescued(
    command: Command, model: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        result = {"best": None, "stopped": Stop.STORE, "trials": 1, "own_trials": 1, "lost": ""}
        return SimpleNamespace(**result, failure="the disk is full", rescued=Path("rest.jsonl"))

    monkeypatch.setattr(module, "tune", failing)
    ran = command(*tuning_of(model, store))
    assert ran.code == 1
    last = "tunesmith: the disk is full; 'tunesmith import rest.jsonl' adds the rest"
    assert ran.err.splitlines()[-1] == last
    assert '"failure":' in ran.out
