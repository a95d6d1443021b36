"""The host's clock, and what is counted of it."""

from __future__ import annotations

import time

import pytest

from tunesmith.bench.scale import clock
from tunesmith.bench.scale.clock import HostWork, host_clock


class Ticking:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_paused_block_does_not_count() -> None:
    ticking = Ticking()
    work = HostWork(ticking)
    assert (work.begun, work.seconds) == (False, 0.0)
    work.begin()
    ticking.now += 2.0
    with work.paused():
        ticking.now += 50.0
        assert work.seconds == 2.0
    ticking.now += 1.0
    assert work.seconds == 3.0
    with work.paused():
        work.stop()
    ticking.now += 7.0
    assert (work.begun, work.seconds) == (True, 3.0)


def test_waiting_counts_unlike_on_the_processor_s_clock() -> None:
    began, busy = host_clock(), time.thread_time()
    time.sleep(0.05)
    assert host_clock() - began > 0.04 > time.thread_time() - busy


def test_waiting_for_a_processor_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    told = tmp_path_factory.mktemp("proc") / "schedstat"
    monkeypatch.setattr(clock, "_SCHEDULER", told)
    monkeypatch.setattr(time, "perf_counter", lambda: 10.0)
    told.write_text("1000000000 2500000000 17\n")
    assert host_clock() == 7.5
    told.write_text("nothing of the kind\n")
    assert host_clock() == 10.0
    told.unlink()
    assert host_clock() == 10.0
