"""Devices that are lost before they are ready, and data that take their time to get there."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from tunesmith.errors import TunesmithError
from tunesmith.measure.processes.child import Exit
from tunesmith.measure.remote.pool import RemotePool, RemoteWorker
from tunesmith.measure.remote.tracker import Address
from tunesmith.measure.remote.worker import Devices


def worker(**changes: Any) -> RemoteWorker:
    """One without a process, whose device was lost before it was ready."""
    made = RemoteWorker.__new__(RemoteWorker)
    state = {
        **{"ready": False, "ending": True, "final": False, "given_back": False, "missed": []},
        **{
            "trial": None,
            "deadline": math.inf,
            "patience": 1.0,
            "waits": 1.0,
            "address": "board:9",
        },
        "error": "the device at board:9 is lost (MemoryError)",
    }
    for name, value in {**state, **changes}.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> RemotePool:
    devices = Devices(Address("board", 1), "key", "fingerprint", 1.0)
    nothing: Any = None
    made = RemotePool(nothing, devices, lambda *_: 0, lambda _: 0, lambda *_, **__: 0)
    monkeypatch.setattr(made, "begin", lambda: None)
    return made


def test_a_device_that_never_gets_ready_ends_the_run(pool: RemotePool) -> None:
    """It may have no room for the data: to ask it again and again would take for ever."""
    pool._ended(worker(), Exit(0, 0, ""))
    with pytest.raises(TunesmithError, match=r"board:9 is lost \(MemoryError\)"):
        pool._ended(worker(), Exit(0, 0, ""))


def test_a_device_that_was_ready_in_between_may_be_lost_again(pool: RemotePool) -> None:
    for _ in range(3):
        pool._ended(worker(), Exit(0, 0, ""))
        pool._heard(worker(ready=True, ending=False))


def test_the_client_hears_of_the_server_while_a_device_runs_for_long(
    pool: RemotePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(pool, "_tell", told.append)
    monkeypatch.setattr(pool, "_told", -math.inf)
    pool._workers = [worker(ready=True, ending=False, trial=object())]
    assert pool.running
    pool.check_starts()
    pool.check_starts()  # a moment later it need not say so again
    assert told == ["waiting"]


def test_much_data_may_take_its_time() -> None:
    sending = worker()
    sending._take({"kind": "connecting", "address": "board:9"})
    assert sending.deadline <= time.monotonic() + 1.0
    sending._take({"kind": "sending", "bytes": 100 << 20})
    assert sending.deadline > time.monotonic() + 60.0
    assert sending.waits == 101.0
