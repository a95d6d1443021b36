"""Measuring on GPUs, emulated ones: right figures, and faults that cost one trial each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.emulated import Gpus, have_gpus, needs_compiler
from tests.measure.gpu.faulty_gpu_sketch import FaultyGpuSketch, config
from tests.patience import PATIENCE
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import DeviceState, Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.testing.trials import candidates

__all__ = ["have_gpus"]

pytestmark = [pytest.mark.alone, needs_compiler]

SETTINGS = MeasureSettings(build_timeout=60.0, run_timeout=2.0, min_repeat_time=0.001, workers=2)
JOB = Job(matmul(m=16, n=16, k=16), (FaultyGpuSketch(),), Target("cuda"), SETTINGS)

_numbers = itertools.count(1)


@pytest.fixture
def measurer(have_gpus: Gpus) -> Iterator[LocalMeasurer]:
    have_gpus()
    with LocalMeasurer(JOB) as measurer:
        yield measurer


def healthy(count: int) -> list:  # type: ignore[type-arg]
    return [config("none", next(_numbers)) for _ in range(count)]


def collect_all(measurer: LocalMeasurer) -> dict[str, list[Measurement]]:
    """All measurements by the fault of their config."""
    measurements: dict[str, list[Measurement]] = {}
    while measurer.pending:
        for measurement in measurer.collect(60.0):
            measurements.setdefault(str(measurement.config["fault"]), []).append(measurement)
    return measurements


def test_each_fault_costs_one_trial(measurer: LocalMeasurer) -> None:
    expected = {
        "instantiation": (Outcome.INSTANTIATION_ERROR, "the tile is larger than the matrix"),
        "no_such_function": (Outcome.COMPILE_DEVICE, "nvcc failed"),
        "wrong": (Outcome.WRONG_ANSWER, "256 of 256 elements wrong"),
        "illegal_address": (Outcome.RUNTIME_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        "endless": (Outcome.RUN_TIMEOUT, "not done after 2 s"),
        "large_workspace": (Outcome.RUNTIME_DEVICE, "CUDA_ERROR_OUT_OF_MEMORY"),
    }
    measurer.submit(candidates(healthy(2)))
    for fault in expected:
        measurer.submit(candidates([config(fault), *healthy(1)]))
    found = collect_all(measurer)
    valid = found.pop("none")
    assert len(valid) == 2 + len(expected)
    for measurement in valid:
        assert measurement.outcome is Outcome.NO_ERROR, measurement.message
        assert measurement.run_seconds
        assert measurement.device_state == DeviceState(1000, 2000, 41)
    for fault, (outcome, message) in expected.items():
        (measurement,) = found[fault]
        assert measurement.outcome is outcome, measurement
        assert message in measurement.message


def test_a_play_off_goes_on_after_a_fault(measurer: LocalMeasurer) -> None:
    good, other = healthy(2)
    figures = measurer.play_off(candidates([good, config("illegal_address"), other]), 3)
    assert [len(it.run_seconds) for it in figures] == [3, 0, 3]
    assert figures[1].outcome is Outcome.RUNTIME_DEVICE


def test_several_gpus_run_at_the_same_time(have_gpus: Gpus) -> None:
    have_gpus(2)
    endless = [config("endless", 1), config("endless", 2)]
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([*endless, *healthy(2)]))
        found = collect_all(measurer)
    assert [it.outcome for it in found["endless"]] == [Outcome.RUN_TIMEOUT] * 2
    assert [it.valid for it in found["none"]] == [True] * 2
    # One build may take longer than the other by any time.
    job = replace(JOB, settings=replace(SETTINGS, run_timeout=PATIENCE))
    with LocalMeasurer(job) as measurer:
        measurer.submit(candidates(endless))
        while len(measurer._running) < 2:
            measurer._pump(1.0)
            assert measurer._finished == [], "one runs after the other"


def test_a_gpu_that_others_have_is_left_alone(have_gpus: Gpus) -> None:
    have_gpus(2, busy=1)
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates(healthy(4)))
        assert all(it.valid for it in collect_all(measurer)["none"])


def test_the_only_gpu_is_in_use_by_others(have_gpus: Gpus) -> None:
    have_gpus(busy=0)
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates(healthy(1)))
        with pytest.raises(TunesmithError, match=r"GPU 0 cannot be used: another process"):
            collect_all(measurer)


def test_what_is_cancelled_does_not_keep_a_play_off_from_its_gpu(measurer: LocalMeasurer) -> None:
    good, *others = healthy(5)
    measurer.submit(candidates(others))
    measurer.collect(60.0)
    measurer.cancel()
    measurer.collect(0.0)  # what has ended is not cancelled
    (figure,) = measurer.play_off(candidates([good]), 2)
    assert len(figure.run_seconds) == 2
    assert measurer.pending == 0


def test_calls_with_an_empty_cache(have_gpus: Gpus) -> None:
    have_gpus()
    job = replace(JOB, settings=replace(SETTINGS, flush_cache=True))
    with LocalMeasurer(job) as measurer:
        measurer.submit(candidates(healthy(1)))
        (measurement,) = collect_all(measurer)["none"]
    assert len(measurement.run_seconds) >= SETTINGS.repeats


def test_a_gpu_that_vanishes_ends_measuring_and_blames_nobody(
    have_gpus: Gpus, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    have_gpus(gone=gone)
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates(healthy(2)))
        found = collect_all(measurer)
        assert all(it.valid for it in found["none"])
        gone.touch()
        measurer.submit(candidates(healthy(2)))
        with pytest.raises(TunesmithError, match=r"^cannot measure: no NVIDIA GPU can be used"):
            collect_all(measurer)


def test_too_little_memory_for_the_data_is_said(have_gpus: Gpus) -> None:
    have_gpus(memory=1024)
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates(healthy(1)))
        with pytest.raises(TunesmithError, match="GPU 0 has too little free memory"):
            collect_all(measurer)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gpus": 0}, "no NVIDIA GPU can be used: there is no NVIDIA GPU, or CUDA_VISIBLE"),
        ({"driver": 11080}, "the NVIDIA driver is for CUDA 11.8: update it to one for CUDA 12.0"),
        ({"arch": 80}, r"this machine's GPU \(Emulated GPU\) does not run code for sm_90"),
    ],
)
def test_what_cannot_be_measured_with(
    have_gpus: Gpus, settings: dict[str, int], message: str
) -> None:
    have_gpus(**settings)
    job = Job(JOB.operator, JOB.sketches, Target("cuda", arch="sm_90"), SETTINGS)
    with LocalMeasurer(job) as measurer, pytest.raises(UsageError, match=message):
        measurer.submit(candidates(healthy(1)))


def test_nothing_is_left_behind(have_gpus: Gpus) -> None:
    have_gpus(2)
    before = set(psutil.Process().children(recursive=True))
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([*healthy(1), config("endless")]))
        measurer.collect(60.0)
        started = set(psutil.Process().children(recursive=True)) - before
        assert started
    assert not psutil.wait_procs(started, timeout=PATIENCE)[1]
