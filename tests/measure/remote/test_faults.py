"""Programs that misbehave on a device: each costs one trial, and the device goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.measure.local.faulty_sketch import FAULTS, SETTINGS, FaultySketch, config
from tests.measure.remote import devices
from tests.measure.remote.devices import needs_tracker
from tests.patience import PATIENCE
from tunesmith.measure.remote.measurer import RemoteMeasurer
from tunesmith.measure.remote.measurers import RpcMeasurers
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.testing.trials import candidates

# Healthy trials must keep the limits of time too.
pytestmark = [pytest.mark.alone, needs_tracker]

# What is said of those whose process is on a device, where it differs.
MESSAGES = {"garbage_to_server": "sent garbage on the device"}


@pytest.fixture(scope="module")
def measurer() -> Iterator[RemoteMeasurer]:
    with devices.tracker() as tracker, devices.device(tracker):
        measurers = RpcMeasurers(tracker.address, "local")
        operator = matmul(m=16, n=16, k=16)
        job = Job(operator, (FaultySketch(),), measurers.target(), SETTINGS)
        with measurers.measurer(job) as measurer:
            yield measurer


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_its_trial(measurer: RemoteMeasurer, fault: str) -> None:
    outcome, message = FAULTS[fault]
    measurer.submit(candidates([config(fault), config("none")]))
    collected: list[Measurement] = []
    while measurer.pending:
        found = measurer.collect(PATIENCE)
        assert found
        collected += found
    results = {str(one.config["fault"]): one for one in collected}
    assert results[fault].outcome is outcome, results[fault].message
    assert MESSAGES.get(fault, message) in results[fault].message
    assert results["none"].outcome is Outcome.NO_ERROR, results["none"].message
