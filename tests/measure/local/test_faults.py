"""Injected faults: each costs one trial of the right class, and all others are measured right."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psutil
import pytest

from tests.measure.local.faulty_sketch import FAULTS, SETTINGS, SLEEPER, FaultySketch, config
from tunesmith.measure.local import measurer as local_module
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.target import Target
from tunesmith.testing.trials import candidates

# Healthy trials must keep the limits of time too.
pytestmark = pytest.mark.alone

JOB = Job(matmul(m=16, n=16, k=16), (FaultySketch(),), Target(), SETTINGS)

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def measurer() -> Iterator[LocalMeasurer]:
    with LocalMeasurer(JOB) as measurer:
        yield measurer


def collect_all(measurer: LocalMeasurer) -> dict[str, list[Measurement]]:
    """All measurements by the fault of their config."""
    measurements: dict[str, list[Measurement]] = {}
    while measurer.pending:
        for measurement in measurer.collect(60.0):
            fault = str(measurement.config["fault"])
            measurements.setdefault(fault, []).append(measurement)
    return measurements


def measure_among_healthy(
    measurer: LocalMeasurer, *faults: str, healthy: int = 2
) -> list[Measurement]:
    """Submit the faults between healthy configs, which must be measured right; in order."""
    before = [config("none", next(_numbers)) for _ in range(healthy)]
    after = [config("none", next(_numbers)) for _ in range(healthy)]
    measurer.submit(candidates([*before, *(config(fault) for fault in faults), *after]))
    measurements = collect_all(measurer)
    valid = measurements.pop("none")
    assert {m.config for m in valid} == {*before, *after}
    for measurement in valid:
        assert measurement.outcome is Outcome.NO_ERROR, measurement.message
        assert measurement.run_seconds
    assert measurements.keys() == set(faults)
    return [measurement for fault in faults for measurement in measurements[fault]]


@pytest.mark.parametrize(
    ("fault", "outcome", "message"), [(fault, *said) for fault, said in FAULTS.items()]
)
def test_a_fault_costs_one_trial(
    measurer: LocalMeasurer, fault: str, outcome: Outcome, message: str
) -> None:
    (measurement,) = measure_among_healthy(measurer, fault)
    assert measurement.outcome is outcome, measurement.message
    assert message in measurement.message
    assert measurement.message.isprintable()
    assert measurement.run_seconds == ()


def test_wild_writes_harm_nobody_else(measurer: LocalMeasurer) -> None:
    (measurement,) = measure_among_healthy(measurer, "write_beyond_inputs")
    assert measurement.outcome in {Outcome.WRONG_ANSWER, Outcome.RUNTIME_DEVICE}


def test_printing_garbage_does_no_harm(measurer: LocalMeasurer) -> None:
    (measurement,) = measure_among_healthy(measurer, "garbage")
    assert measurement.valid, measurement.message


def test_what_a_candidate_leaves_running_is_killed(measurer: LocalMeasurer) -> None:
    (measurement,) = measure_among_healthy(measurer, "leave_a_process")
    assert measurement.valid, measurement.message
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if SLEEPER in (p.info["cmdline"] or [])]
    assert left == []


def test_an_instantiation_error_compiles_and_runs_nothing(measurer: LocalMeasurer) -> None:
    (measurement,) = measure_among_healthy(measurer, "instantiation_error")
    assert measurement.program_hash == ""
    assert measurement.run_time == 0.0


def test_programs_are_told_apart_by_their_hash(measurer: LocalMeasurer) -> None:
    first, second = measure_among_healthy(measurer, "wrong", "negated")
    measurer.submit(candidates([config("none", 1), config("none", 2)]))
    right = {m.program_hash for m in collect_all(measurer)["none"]}
    assert len(right) == 1
    assert len({first.program_hash, second.program_hash, *right}) == 3


def test_a_hanging_build_does_not_hold_up_the_others(measurer: LocalMeasurer) -> None:
    measurer.submit(
        candidates([config("hang_build"), *(config("none", next(_numbers)) for _ in range(3))])
    )
    order = []
    while measurer.pending:
        order += [str(m.config["fault"]) for m in measurer.collect(60.0)]
    assert order == ["none", "none", "none", "hang_build"]


@pytest.mark.parametrize("fault", ["kill_worker", "kill_worker_in_build"])
def test_a_candidate_that_kills_its_worker(measurer: LocalMeasurer, fault: str) -> None:
    (measurement,) = measure_among_healthy(measurer, fault)
    assert measurement.outcome is Outcome.UNKNOWN_ERROR
    assert measurement.message == "it killed its worker process"


def test_a_candidate_that_stops_its_worker(
    measurer: LocalMeasurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "_SILENCE", 0.5)
    (measurement,) = measure_among_healthy(measurer, "stop_worker")
    assert measurement.outcome is Outcome.UNKNOWN_ERROR
    assert measurement.message == "it killed its worker process"


def test_all_faults_at_once(measurer: LocalMeasurer) -> None:
    faults = ("abort", "wrong", "schedule_error", "exit_in_build", "hang_run", "segfault", "nan")
    measurements = measure_among_healthy(measurer, *faults, healthy=5)
    assert [m.outcome for m in measurements] == [
        Outcome.RUNTIME_DEVICE,
        Outcome.WRONG_ANSWER,
        Outcome.INSTANTIATION_ERROR,
        Outcome.COMPILE_HOST,
        Outcome.RUN_TIMEOUT,
        Outcome.RUNTIME_DEVICE,
        Outcome.WRONG_ANSWER,
    ]


def test_a_play_off_survives_its_contestants(measurer: LocalMeasurer) -> None:
    faults = ("none", "hang_run", "kill_worker", "none", "wrong")
    measurements = measurer.play_off(candidates([config(fault) for fault in faults]), rounds=3)
    assert [m.config["fault"] for m in measurements] == list(faults)
    assert [m.outcome for m in measurements] == [
        Outcome.NO_ERROR,
        Outcome.RUN_TIMEOUT,
        Outcome.UNKNOWN_ERROR,
        Outcome.NO_ERROR,
        Outcome.WRONG_ANSWER,
    ]
    assert [len(m.run_seconds) for m in measurements] == [3, 0, 0, 3, 0]
