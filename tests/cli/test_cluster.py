"""``tunesmith tune --cluster``, as a user types it."""

from __future__ import annotations

import importlib.util
import socket
import sys
from pathlib import Path

import psutil
import pytest

from tests.cli.command import Process, assert_sound, eventually, trials_in, tunesmith
from tests.cli.conftest import Command
from tunesmith.machine import this_machine
from tunesmith.store import open_store

MATMUL = ["tune", "matmul", "--m", "16", "--n", "16", "--k", "16"]

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed: pip install 'tunesmith[cluster]'",
)


@pytest.fixture(autouse=True)
def _ray_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of Ray is written into the user's folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_TMPDIR", raising=False)


@needs_ray
@pytest.mark.slow
def test_a_cluster_of_this_machine(store: Path) -> None:
    words = [*MATMUL, "--cores", "1", "--trials", "20", "--store", store, "--json"]
    ran = tunesmith(*words, "--cluster", "local")
    assert ran.json["trials"] == 20 and ran.json["stopped"] == "trials"
    assert ran.json["best"]["seconds"] > 0.0
    assert ran.err.startswith("starting a cluster on this machine\n")
    assert " measures\n" in ran.err
    assert trials_in(store) == 20
    assert_sound(store)
    # The kind of machine is the same, so runs without a cluster go on from these records.
    with open_store(store) as opened:
        (machine,) = {record.machine["fingerprint"] for record in opened.records(ran.json["task"])}
    assert machine == this_machine()["fingerprint"]


@needs_ray
@pytest.mark.slow
def test_ctrl_c_ends_the_cluster(store: Path) -> None:
    started = Process.start([*MATMUL, "--cores", "1", "--store", store, "--cluster", "local"])
    with started.cleaned_up():
        eventually(lambda: trials_in(store) > 0, "a trial is stored")
        family = psutil.Process(started.process.pid).children(recursive=True)
        assert any("gcs_server" in name_of(member) for member in family)
        assert any(name_of(member).startswith("ray::NodeWorker") for member in family)
        started.interrupt()
        ran = started.wait()
        assert ran.code == 0
        assert "stopped: interrupted" in ran.out
        assert "Traceback" not in ran.err
        eventually(lambda: not any(member.is_running() for member in family), "all have ended")
    assert_sound(store)


def name_of(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


@needs_ray
def test_nobody_answers(command: Command, store: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        ran = command(*MATMUL, "--store", store, "--cluster", address)
    assert ran.code == 1 and ran.out == ""
    joining, complaint = ran.err.splitlines()
    assert joining == f"joining the cluster at {address}"
    assert complaint == (
        f"tunesmith: no cluster answers at {address}: connection refused; start one by 'ray start "
        "--head'"
    )


@pytest.mark.parametrize("address", ["", "somewhere", "10.0.0.1", ":6379", "a:b", "a:0", "a:70000"])
def test_no_address(command: Command, store: Path, address: str) -> None:
    ran = command(*MATMUL, "--store", store, "--cluster", address)
    assert ran.code == 2
    assert ran.complaint == (
        f"a cluster's address is HOST:PORT or 'local', not '{address}': 'ray status' tells it"
    )


def test_without_ray(command: Command, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    ran = command(*MATMUL, "--store", store, "--cluster", "local")
    assert ran.code == 1
    assert ran.complaint == "a cluster needs Ray: pip install 'tunesmith[cluster]'"


def test_with_build_only(command: Command, store: Path) -> None:
    ran = command(*MATMUL, "--store", store, "--cluster", "local", "--build-only")
    assert ran.code == 2
    assert ran.complaint.startswith("--build-only measures nothing: leave out --peers, --report")
