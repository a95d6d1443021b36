"""Builds without runs: each ends in the class of its fault, and nothing is ever called."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.measure.local.faulty_sketch import FaultySketch, config
from tunesmith.errors import TunesmithError
from tunesmith.measure.local.build_result import BuildResult
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Outcome
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.testing.trials import candidates

# Healthy builds must keep the limit of time too.
pytestmark = pytest.mark.alone

SETTINGS = MeasureSettings(build_timeout=2.0, memory_limit=256 << 20, workers=2)
JOB = Job(matmul(m=16, n=16, k=16), (FaultySketch(),), Target(), SETTINGS)


def build(*faults: str) -> dict[str, BuildResult]:
    """What came of configs with these faults, by fault."""
    with LocalMeasurer(JOB) as measurer:
        results = list(measurer.build(candidates([config(fault) for fault in faults])))
        assert measurer.pending == 0
    assert len(results) == len(faults)
    return {str(result.config["fault"]): result for result in results}


def test_each_build_ends_in_the_class_of_its_fault() -> None:
    results = build(
        "none", "instantiation_error", "segfault_in_build", "hang_build", "no_program", "none"
    )
    assert {fault: result.outcome for fault, result in results.items()} == {
        "none": Outcome.NO_ERROR,
        "instantiation_error": Outcome.INSTANTIATION_ERROR,
        "segfault_in_build": Outcome.COMPILE_HOST,
        "hang_build": Outcome.BUILD_TIMEOUT,
        "no_program": Outcome.COMPILE_HOST,
    }
    assert results["none"].built
    assert results["none"].seconds > 0
    assert results["none"].program_hash
    assert results["none"].resources is None, "the compiler of the CPU tells nothing"
    assert results["instantiation_error"].message == "the tile is larger than the matrix"
    assert results["hang_build"].seconds >= 2.0


def test_nothing_runs() -> None:
    results = build("abort", "hang_run", "wrong", "kill_worker")
    assert {result.outcome for result in results.values()} == {Outcome.NO_ERROR}


def test_a_build_that_kills_the_worker_costs_itself_alone() -> None:
    results = build("none", "kill_worker_in_build", "slow_build")
    assert results["kill_worker_in_build"].outcome is Outcome.UNKNOWN_ERROR
    assert results["kill_worker_in_build"].message == "it killed its worker process"
    assert results["none"].built
    assert results["slow_build"].built


def test_what_is_not_asked_for_is_given_up_and_the_measurer_goes_on() -> None:
    with LocalMeasurer(JOB) as measurer:
        for result in measurer.build(candidates([config("none", n) for n in range(50)])):
            assert result.built
            break
        measurer.submit(candidates([config("none")]))
        measurements = []
        while measurer.pending:
            measurements += measurer.collect(60.0)
        assert [one.config for one in measurements] == [config("none")]
        assert measurements[0].valid
        assert measurements[0].run_seconds


@pytest.mark.parametrize("ending", ["close", "cancel"])
def test_no_result_comes_after_the_end(ending: str) -> None:
    with LocalMeasurer(JOB) as measurer:
        results = measurer.build(candidates([config("none", n) for n in range(20)]))
        assert next(results).built
        getattr(measurer, ending)()
        assert list(results) == []


def test_what_was_submitted_before_is_measured() -> None:
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("none", n) for n in range(3)]))
        for _ in measurer.build(candidates([config("none", n) for n in range(5, 9)])):
            if measurer._finished:
                break
        measurements = []
        while measurer.pending:
            measurements += measurer.collect(60.0)
        assert {one.config for one in measurements} == {config("none", n) for n in range(3)}


def test_a_closed_measurer_builds_nothing() -> None:
    measurer = LocalMeasurer(JOB)
    measurer.close()
    with pytest.raises(TunesmithError, match="closed"):
        next(measurer.build(candidates([config("none")])))


@pytest.mark.parametrize("ending", ["it is closed", "its server is killed"])
def test_nothing_is_left_in_the_folder_of_temporary_files(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where compilers that are killed leave their files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with LocalMeasurer(JOB) as measurer:
        (folder,) = tmp_path.iterdir()
        (folder / "left").write_text("by a compiler")
        assert next(measurer.build(candidates([config("none")]))).built
        if ending == "its server is killed":
            fault = config("kill_worker_in_build")
            assert [one.built for one in measurer.build(candidates([fault]))] == [False]
            (folder,) = tmp_path.iterdir()
    assert list(tmp_path.iterdir()) == []
