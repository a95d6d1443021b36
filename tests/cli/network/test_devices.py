"""``tunesmith network tune`` on devices and on a cluster, with real processes on loopback."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Process, Ran, assert_sound, eventually, trials_in, tunesmith
from tests.cli.conftest import Command
from tests.cli.refused_devices import REFUSED
from tests.cli.test_cluster import needs_ray
from tests.measure.remote import devices
from tests.measure.remote.devices import Started, needs_tracker
from tests.networks.small_onnx import saved, small_model
from tests.patience import PATIENCE
from tunesmith.machine import this_machine
from tunesmith.store import open_store


@pytest.fixture(scope="module")
def tracker() -> Iterator[Started]:
    with devices.tracker() as started:
        yield started


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(small_model(), tmp_path)


def on(tracker: Started) -> tuple[object, ...]:
    return ("--rpc", tracker.address, "--device-key", "local")


def tuned(*words: object) -> list[Ran]:
    """Runs of 20 seconds, until each task has a time: one may do, on a slow machine it does not."""
    runs: list[Ran] = []
    while not runs or any(task["after"] is None for task in runs[-1].json["tasks"]):
        assert len(runs) < 10, "no time for each task in 200 seconds"
        runs.append(tunesmith("network", "tune", *words, "--seconds", 20, "--json"))
        assert runs[-1].json["stopped"] in ("seconds", "exhausted")
    return runs


def measured_here(store: Path, runs: list[Ran]) -> Counter[str]:
    """The trials of each task, all on this machine: it is the device or node of these tests."""
    trials: Counter[str] = Counter()
    for ran in runs:
        trials.update({task["task"]: task["trials"] for task in ran.json["tasks"]})
    with open_store(store) as opened:
        for task, count in trials.items():
            assert opened.count(task) == count > 0
            machines = [session.machine for session in opened.sessions(task)]
            assert {it["fingerprint"] for it in machines} == {this_machine()["fingerprint"]}
    return trials


@pytest.mark.slow
@needs_tracker
def test_a_device_tunes_a_network(
    tracker: Started, command: Command, model: Path, store: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    with devices.device(tracker) as device:
        words = (model, "--store", store, "--cores", 1, "--report", page)
        runs = tuned(*words, *on(tracker))
        assert device.read().endswith(" works with this device\n")
    trials = measured_here(store, runs)
    assert all("mcpu=" in task and "cores=1" in task for task in trials)
    assert_sound(store)
    assert " --rpc " in page.read_text()
    # What a build for that processor takes.
    processor = next(iter(trials)).partition("mcpu=")[2].partition(",")[0]
    build = ("network", "build", model, "--mcpu", processor, "--cores", 1, "--contenders", 1)
    built = command(*build, "--store", store, "-o", tmp_path / "net.so", "--json").json
    several = [task for task in trials if trials[task] > 1]  # no build takes a default alone
    assert built["stored_tasks"] == len(several)


@pytest.mark.slow
@needs_tracker
def test_a_run_whose_only_device_is_unplugged_ends_with_what_it_has(
    tracker: Started, model: Path, store: Path
) -> None:
    words = ("network", "tune", model, "--seconds", PATIENCE, "--store", store, "--cores", 1)
    with devices.device(tracker) as device:
        process = Process.start([*words, *on(tracker), "--json"])
        with process.cleaned_up():
            ended = process.process.poll
            eventually(lambda: trials_in(store) >= 3 or ended() is not None, "trials are saved")
            device.kill()
            ran = process.wait()
    assert ran.code == 1
    found = json.loads(ran.out)
    assert found["stopped"] == "lost"
    assert sum(task["trials"] for task in found["tasks"]) == trials_in(store) >= 3
    last = ran.err.splitlines()[-1]
    assert last == f"tunesmith: {found['lost']}"
    # In the middle of a task's trials, or between two tasks.
    gone = (f"no device of the key 'local' is left at {tracker.address}", "has no device: start ")
    assert any(words in last for words in gone)
    assert_sound(store)


@needs_ray
@pytest.mark.slow
def test_a_cluster_of_this_machine(
    model: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray writes
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    runs = tuned(model, "--store", store, "--cores", 1, "--cluster", "local")
    measured_here(store, runs)
    assert "starting a cluster on this machine\n" in runs[-1].err
    assert " measures\n" in runs[-1].err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *REFUSED,
        (
            ("--triple", "aarch64-linux-gnu"),
            "this machine runs no code for aarch64-linux-gnu: measure on a device (--rpc and "
            "--device-key), or take tunesmith network build",
        ),
        (
            ("--cluster", "somewhere"),
            "a cluster's address is HOST:PORT or 'local', not 'somewhere': 'ray status' tells it",
        ),
    ],
)
def test_bad_words(
    command: Command, model: Path, store: Path, words: tuple[str, ...], message: str
) -> None:
    ran = command("network", "tune", model, "--store", store, *words)
    assert ran.code == (1 if "nobody" in message else 2)
    assert ran.err.splitlines()[-1] == f"tunesmith: {message}"
    assert trials_in(store) == 0


@needs_tracker
def test_more_cores_than_the_device_has(tracker: Started, command: Command, model: Path) -> None:
    with devices.device(tracker):
        ran = command("network", "tune", model, *on(tracker), "--cores", 1000)
    assert ran.code == 2
    assert ran.complaint.startswith("the devices of 'local' have ")
    assert ran.complaint.endswith(" cores, not 1000")
