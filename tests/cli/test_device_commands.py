"""``tunesmith tracker``, ``device`` and ``tune --rpc``, with real processes on loopback."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Process, assert_sound, eventually, trials_in, tunesmith
from tests.cli.conftest import Command
from tests.cli.refused_devices import REFUSED
from tests.measure.remote import devices
from tests.measure.remote.devices import Started, needs_tracker
from tests.patience import PATIENCE
from tunesmith.compiler.importing import load_compiler
from tunesmith.machine import this_machine
from tunesmith.measure.remote.tracker import Address, Tracker
from tunesmith.store import open_store

MATMUL = ("matmul", "--m", 32, "--n", 32, "--k", 32)


@pytest.fixture(scope="module")
def tracker() -> Iterator[Started]:
    with devices.tracker() as started:
        yield started


def tune_on(tracker: Started, *words: object) -> tuple[object, ...]:
    where = ("--rpc", tracker.address, "--device-key", "local")
    return ("tune", *MATMUL, *where, *words)


# -- runs -----------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_tracker
def test_two_devices_tune_a_task(tracker: Started, store: Path) -> None:
    with devices.device(tracker) as first, devices.device(tracker) as second:
        found = tunesmith(*tune_on(tracker, "--trials", 20, "--store", store, "--json")).json
        for one in (first, second):
            assert one.read().endswith(" works with this device\n")
            assert one.read().endswith(" is done\n")
            one.process.process.send_signal(signal.SIGINT)
            assert one.process.wait().code == 130
        assert first.process.family() == [] == second.process.family()
    assert (found["trials"], found["valid"], found["stopped"]) == (20, 20, "trials")
    assert found["best"]["seconds"] <= found["default"]["seconds"]
    assert_sound(store)
    assert trials_in(store) == 20
    with open_store(store) as opened:
        machines = [session.machine for session in opened.sessions(found["task"])]
    assert {machine["fingerprint"] for machine in machines} == {this_machine()["fingerprint"]}
    assert "mcpu=" in found["task"] and "cores=" in found["task"]


@pytest.mark.slow
@needs_tracker
def test_a_run_whose_only_device_is_unplugged_keeps_what_it_measured(
    tracker: Started, store: Path
) -> None:
    words = tune_on(tracker, "--seconds", PATIENCE, "--tuner", "random", "--store", store)
    with devices.device(tracker) as device:
        process = Process.start(words)
        with process.cleaned_up():
            ended = process.process.poll
            eventually(lambda: trials_in(store) >= 3 or ended() is not None, "trials are saved")
            device.kill()
            ran = process.wait()
    assert ran.code == 1
    lines = ran.err.splitlines()
    assert any(f"the device at {device.address} is lost" in line for line in lines)
    where = f"no device of the key 'local' is left at {tracker.address}"
    assert lines[-1] == f"tunesmith: cannot measure: {where}"
    assert_sound(store)
    assert trials_in(store) >= 3


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *REFUSED,
        (
            ("--rpc", "127.0.0.1:1", "--device-key", "a", "--peers"),
            "--rpc measures on devices alone: leave out --peers, or it",
        ),
        (
            ("--rpc", "127.0.0.1:1", "--device-key", "a", "--build-only"),
            "--build-only measures nothing: leave out --peers, --report, --rpc and --cluster",
        ),
        (
            ("--triple", "mips-linux-gnu"),
            "unknown platform 'mips-linux-gnu': did you mean x86_64-linux-gnu or "
            "aarch64-linux-gnu?",
        ),
        (
            ("--triple", "aarch64-linux-gnu", "--mcpu", "znver4"),
            "this machine runs no code for aarch64-linux-gnu: measure on a device (--rpc and "
            "--device-key), or take --build-only",
        ),
    ],
)
def test_bad_words_of_tune(command: Command, words: tuple[str, ...], message: str) -> None:
    ran = command("tune", *MATMUL, *words)
    assert (ran.code, ran.complaint) == (1 if "nobody" in message else 2, message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tracker", "here", "--key", "a"), "--tracker must be HOST:PORT, such as "),
        (("--tracker", "a:1", "--key", "a:b"), "--key must be a word without colons, not 'a:b'"),
        (("--tracker", "a:1", "--key", "a", "--port", 70000), "invalid value for '--port': "),
        (("--tracker", "a:1", "--key", "a", "--port", -1), "invalid value for '--port': "),
        (
            ("--tracker", "a:1", "--key", "a", "--host", "192.0.2.1"),
            "--host 192.0.2.1 is no address of this machine: name another",
        ),
        (
            ("--tracker", "a:1", "--key", "a", "--memory-limit", 0),
            "--memory-limit must be at least 1 MiB, not 0",
        ),
    ],
)
def test_bad_words_of_device(command: Command, words: tuple[object, ...], message: str) -> None:
    load_compiler()  # a device imports TVM's runtime alone, and other tests need all of it
    ran = command("device", *words)
    assert ran.code == 2
    assert ran.complaint.startswith(message)


def test_a_tracker_without_tornado(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    ran = command("tracker")
    reason = "the tracker needs tornado: install it with pip install 'tunesmith[rpc]'"
    assert (ran.code, ran.complaint) == (1, reason)


@needs_tracker
def test_a_port_in_use(tracker: Started) -> None:
    here = ("--host", "127.0.0.1", "--port", tracker.port)
    message = f"port {tracker.port} of 127.0.0.1 is in use: name another one by --port, 0 for any"
    ran = tunesmith("tracker", *here)
    assert (ran.code, ran.complaint) == (1, message)
    ran = tunesmith("device", "--tracker", tracker.address, "--key", "local", *here)
    assert (ran.code, ran.complaint) == (1, message)


@needs_tracker
def test_a_device_without_a_tracker() -> None:
    ran = tunesmith("device", "--tracker", "127.0.0.1:1", "--key", "local", "--host", "127.0.0.1")
    assert ran.code == 1
    assert ran.complaint.startswith("nobody answers at 127.0.0.1:1 (connection refused): start ")


def test_what_is_no_tracker(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            client, _ = listener.accept()
            with client:
                client.sendall(b"220 mail")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        ran = command("tune", *MATMUL, "--rpc", address, "--device-key", "local")
        thread.join()
    reason = f"what answers at {address} is no tracker: correct the address"
    assert (ran.code, ran.complaint) == (1, reason)


@needs_tracker
def test_a_tracker_without_devices(tracker: Started, command: Command) -> None:
    ran = command(*tune_on(tracker))
    reason = f"the tracker at {tracker.address} has no device: start 'tunesmith device' on one"
    assert (ran.code, ran.complaint) == (2, reason)


# What a device's server says, but for the parts that a test changes.
ABOUT = {"protocol": 1, "machine": this_machine(), "processor": "generic", "cores": 1}


@contextlib.contextmanager
def pretended(tracker: Started, key: str, *abouts: dict[str, Any]) -> Iterator[None]:
    """Devices that are known to the tracker and do nothing."""
    with contextlib.ExitStack() as stack:
        for port, about in enumerate(abouts, 1000):
            known = Tracker(Address.of(tracker.address, "the tracker"))
            stack.enter_context(known).introduce(key, port, "127.0.0.1", about)
        yield


@needs_tracker
def test_a_wrong_key(tracker: Started, command: Command) -> None:
    with pretended(tracker, "rpi4", ABOUT):
        ran = command(*tune_on(tracker))
    assert (ran.code, ran.complaint) == (2, "unknown device key 'local': known: rpi4")


@needs_tracker
def test_devices_of_two_kinds(tracker: Started, command: Command) -> None:
    other = {**ABOUT, "machine": {**this_machine(), "cpu": "Another", "fingerprint": "0" * 16}}
    with pretended(tracker, "local", ABOUT, other):
        ran = command(*tune_on(tracker))
    assert ran.code == 2
    assert "is of another kind than the others of the key 'local'" in ran.complaint
    assert ran.complaint.endswith("give each kind its own --key")


@needs_tracker
def test_a_server_of_tvms_own(tracker: Started, command: Command) -> None:
    with pretended(tracker, "local", {}):
        ran = command(*tune_on(tracker))
    assert ran.code == 2
    started = "was not started by 'tunesmith device' of this version: start it so"
    assert ran.complaint == f"the device at 127.0.0.1:1000 {started}"


@needs_tracker
def test_more_cores_than_the_device_has(tracker: Started, command: Command) -> None:
    with pretended(tracker, "local", ABOUT):
        ran = command(*tune_on(tracker, "--cores", 2))
    assert (ran.code, ran.complaint) == (2, "the devices of 'local' have 1 cores, not 2")
