"""Which targets devices are measured with: theirs, and no other machine's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.measure.local.faulty_sketch import FaultySketch
from tests.measure.remote import devices
from tests.measure.remote.aarch64 import needs_linker
from tests.measure.remote.devices import Started, needs_tracker
from tunesmith.errors import UsageError
from tunesmith.machine import fingerprint, this_machine
from tunesmith.measure.remote.measurers import RpcMeasurers
from tunesmith.measure.remote.messages import PROTOCOL
from tunesmith.measure.remote.tracker import Address, Tracker
from tunesmith.measure.trial.job import Job
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target

pytestmark = needs_tracker


@pytest.fixture(scope="module")
def tracker() -> Iterator[Started]:
    with devices.tracker() as started:
        yield started


@pytest.fixture
def measurers(tracker: Started) -> Iterator[RpcMeasurers]:
    with known_device(tracker, "rpi4", "cortex-a72") as found:
        yield found


@contextlib.contextmanager
def known_device(
    tracker: Started, key: str, processor: str, **others: Any
) -> Iterator[RpcMeasurers]:
    """Measurers of an Arm device that is known to the tracker, and does nothing."""
    machine = {**this_machine(), "architecture": "aarch64", "cpu": "Arm", "cores": 4, **others}
    machine["fingerprint"] = fingerprint(machine)
    about = {"protocol": PROTOCOL, "machine": machine, "processor": processor, "cores": 4}
    with Tracker(Address.of(tracker.address, "the tracker")) as known:
        known.introduce(key, 1000, "127.0.0.1", about)
        yield RpcMeasurers(tracker.address, key)


def job_for(target: Target) -> Job:
    return Job(matmul(m=16, n=16, k=16), (FaultySketch(),), target, MeasureSettings())


def test_the_target_is_the_devices(measurers: RpcMeasurers) -> None:
    elsewhere = Target("cpu", "cortex-a72", 4, triple="aarch64-linux-gnu")
    assert measurers.target() == elsewhere
    other = measurers.target(mcpu="cortex-a53", cores=2)
    assert (other.mcpu, other.cores, other.triple) == ("cortex-a53", 2, "aarch64-linux-gnu")


def test_a_target_of_another_architecture_is_refused(measurers: RpcMeasurers) -> None:
    reason = (
        "the devices of 'rpi4' are aarch64 and the target is x86_64: take the target() of the "
        "measurers"
    )
    with pytest.raises(UsageError) as caught:
        measurers.measurer(job_for(Target(mcpu="haswell", triple="x86_64-linux-gnu")))
    assert str(caught.value) == reason


def test_gpus_are_refused(measurers: RpcMeasurers) -> None:
    with pytest.raises(UsageError, match=r"^devices run programs for CPUs, not cuda: take --targ"):
        measurers.measurer(job_for(Target("cuda", arch="sm_90")))


@pytest.mark.parametrize("length", [0, pytest.param(32, marks=needs_linker)])
def test_vectors_that_are_longer_than_the_devices_are_refused(
    length: int, tracker: Started
) -> None:
    machine = {"sve_bytes": length} if length else {}
    with known_device(tracker, f"sve-{length}", "neoverse-v1", **machine) as measurers:
        reason = (
            "^programs for a64fx have vectors of 64 bytes, and those of the devices of "
            f"'sve-{length}' are {length or 16}: name another processor with --mcpu$"
        )
        with pytest.raises(UsageError, match=reason):
            measurers.measurer(job_for(measurers.target(mcpu="a64fx")))
        if length:
            measurers.measurer(job_for(measurers.target())).close()
