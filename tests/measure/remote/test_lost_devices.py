"""Devices and trackers that go away: no trial is lost, and a run goes on with what is left."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.cli.command import eventually
from tests.measure.local.faulty_sketch import FaultySketch, config
from tests.measure.remote import devices
from tests.measure.remote.devices import Started, needs_tracker
from tests.patience import PATIENCE
from tunesmith.errors import TunesmithError
from tunesmith.measure.remote.device.about import about_this_device
from tunesmith.measure.remote.measurer import RemoteMeasurer
from tunesmith.measure.remote.measurers import RpcMeasurers
from tunesmith.measure.remote.tracker import Address, Tracker
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.testing.trials import candidates

pytestmark = [pytest.mark.slow, needs_tracker]

# The device's own limit of a run is far away, so that a device that hangs is told by its silence.
# All programs are the same, and each is to run.
SETTINGS = MeasureSettings(
    build_timeout=PATIENCE, run_timeout=PATIENCE, workers=2, measure_again=True
)


@pytest.fixture
def tracker() -> Iterator[Started]:
    with devices.tracker() as started:
        yield started


class Told(list[str]):
    """What the user was told; waits for a line."""

    def wait_for(self, words: str) -> None:
        eventually(lambda: any(words in line for line in self), words)


def measurer_of(
    tracker: Started,
    told: Told,
    *,
    key: str = "local",
    patience: float = PATIENCE,
    settings: MeasureSettings = SETTINGS,
) -> RemoteMeasurer:
    measurers = RpcMeasurers(tracker.address, key, patience=patience, tell=told.append)
    operator = matmul(m=16, n=16, k=16)
    return measurers.measurer(Job(operator, (FaultySketch(),), measurers.target(), settings))


def healthy(count: int) -> list[Candidate]:
    return list(candidates(config("none", number) for number in range(count)))


def collect_all(measurer: RemoteMeasurer) -> list[Measurement]:
    collected: list[Measurement] = []
    while measurer.pending:
        collected += measurer.collect(PATIENCE)
    return collected


def assert_all_measured(collected: list[Measurement], submitted: list[Candidate]) -> None:
    assert Counter(one.candidate for one in collected) == Counter(submitted)
    assert {one.outcome for one in collected} == {Outcome.NO_ERROR}


def test_a_device_that_dies_while_another_is_left(tracker: Started) -> None:
    told, submitted = Told(), healthy(12)
    with (
        devices.device(tracker) as doomed,
        devices.device(tracker),
        measurer_of(tracker, told) as measurer,
    ):
        measurer.submit(submitted)
        eventually(lambda: doomed.serves, "both devices work")
        doomed.kill()
        assert_all_measured(collect_all(measurer), submitted)
        told.wait_for(f"the device at {doomed.address} is lost")
        assert not any("Error" in text for text in told)


def test_the_last_device_that_dies_ends_the_run_and_keeps_what_was_measured(
    tracker: Started,
) -> None:
    told, submitted = Told(), healthy(3)
    with devices.device(tracker) as doomed, measurer_of(tracker, told, patience=5.0) as measurer:
        measurer.submit(submitted)
        assert_all_measured(collect_all(measurer), submitted)
        measurer.submit(candidates([config("hang_run")]))
        while not measurer._running:
            measurer._pump(1.0)
        doomed.kill()
        measurer.submit(healthy(2))
        with pytest.raises(TunesmithError) as caught:
            collect_all(measurer)
        expected = f"cannot measure: no device of the key 'local' is left at {tracker.address}"
        assert str(caught.value) == expected
        told.wait_for("no device is left to this run: waiting 5 s for one")


@pytest.mark.alone
def test_a_device_that_hangs_is_lost_and_its_trial_runs_elsewhere(tracker: Started) -> None:
    told, submitted = Told(), healthy(6)
    settings = replace(SETTINGS, run_timeout=2.0)
    with devices.device(tracker) as stuck:
        with measurer_of(tracker, told, patience=20.0, settings=settings) as measurer:
            measurer.submit(submitted)
            eventually(lambda: stuck.serves, "the device works")
            stuck.kill(number=signal.SIGSTOP)
            with devices.device(tracker):
                assert_all_measured(collect_all(measurer), submitted)
        assert any(f"the device at {stuck.address} is lost (it does not answer" in t for t in told)


def test_a_device_that_comes_back_goes_on(tracker: Started) -> None:
    told, submitted = Told(), healthy(6)
    with devices.device(tracker) as doomed, measurer_of(tracker, told) as measurer:
        measurer.submit(submitted)
        eventually(lambda: doomed.serves, "the device works")
        doomed.kill()
        with devices.device(tracker, "local", "--port", doomed.port):
            assert_all_measured(collect_all(measurer), submitted)


def test_a_program_that_takes_its_device_along_does_so_twice_at_most(tracker: Started) -> None:
    told = Told()
    killing = candidates([config("kill_worker")])
    submitted = healthy(2)
    with devices.device(tracker) as only, measurer_of(tracker, told) as measurer:
        measurer.submit([*killing, *submitted])
        results = {one.candidate: one for one in collect_all(measurer)}
        assert results[killing[0]].outcome is Outcome.RUNTIME_DEVICE
        message = results[killing[0]].message
        assert f"the device at {only.address} is lost" in message and message.endswith(", again")
        assert [results[one].outcome for one in submitted] == [Outcome.NO_ERROR] * 2


def test_a_play_off_goes_on_elsewhere(tracker: Started) -> None:
    told, finalists = Told(), healthy(3)
    with devices.device(tracker) as first, measurer_of(tracker, told) as measurer:
        measurer.submit(finalists)
        eventually(lambda: first.serves, "the first device works")
        with devices.device(tracker):
            collect_all(measurer)
            killing = threading.Timer(1.0, first.kill)
            killing.start()
            played = measurer.play_off(finalists, rounds=300)
            killing.join()
            assert [len(one.run_seconds) for one in played] == [300] * 3
            assert [one.candidate for one in played] == finalists


def test_a_tracker_that_is_restarted(tracker: Started) -> None:
    told, submitted = Told(), healthy(8)
    with devices.device(tracker) as device, measurer_of(tracker, told) as measurer:
        measurer.submit(submitted)
        eventually(lambda: device.serves, "the device works")
        tracker.kill()
        with devices.tracker(tracker.port) as another:
            assert_all_measured(collect_all(measurer), submitted)
            measurer.close()
            while "is back" not in device.read():
                pass
            with measurer_of(another, told) as later:
                later.submit(submitted)
                assert_all_measured(collect_all(later), submitted)


def test_a_device_a_hundred_times_slower(tracker: Started) -> None:
    """It runs for a hundredth of the time; nothing but the times of its programs changes."""
    told, submitted = Told(), healthy(3)
    with devices.device(tracker) as device, measurer_of(tracker, told) as measurer:
        done = threading.Event()

        def slow_down() -> None:
            while not done.is_set():
                device.kill(number=signal.SIGSTOP)
                time.sleep(0.2)
                device.kill(number=signal.SIGCONT)
                time.sleep(0.002)

        slowing = threading.Thread(target=slow_down)
        slowing.start()
        try:
            measurer.submit(submitted)
            assert_all_measured(collect_all(measurer), submitted)
        finally:
            done.set()
            slowing.join()


def test_two_hosts_take_turns(tracker: Started) -> None:
    first_told, second_told, submitted = Told(), Told(), healthy(4)
    with devices.device(tracker) as device:
        with Tracker(Address("127.0.0.1", tracker.port)) as line:
            eventually(lambda: line.free("local") == 1, "the device is offered")
        with measurer_of(tracker, first_told) as first:
            first.submit(submitted)
            eventually(lambda: device.serves, "the first host has the device")
            with measurer_of(tracker, second_told) as second:
                assert second_told == ["all devices of 'local' are in use (1): waiting for one"]
                second.submit(submitted)
                assert_all_measured(collect_all(first), submitted)
                assert_all_measured(collect_all(second), submitted)
    assert first_told == []


def test_a_device_that_cannot_be_reached_is_told_of_once(tracker: Started) -> None:
    told = Told()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    about = about_this_device()
    with Tracker(Address("127.0.0.1", tracker.port)) as line:
        line.introduce("away", port, "127.0.0.1", about)
        line.offer("away", port, "127.0.0.1", "away:1")
        line.offer("away", port, "127.0.0.1", "away:2")
        with measurer_of(tracker, told, key="away", patience=3.0) as measurer:
            measurer.submit(healthy(1))
            no_device = "^cannot measure: no device of the key 'away' is left at "
            with pytest.raises(TunesmithError, match=no_device):
                collect_all(measurer)
    assert len(told) == 2
    assert told[0].startswith(f"the device at 127.0.0.1:{port} is lost (")
    assert told[1] == "no device is left to this run: waiting 3 s for one"
