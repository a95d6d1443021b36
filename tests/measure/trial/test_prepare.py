"""Trials of programs with constant weights: laid out once, untimed, and verified with the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.trial.preparing_sketch import PreparingSketch, config
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.testing.trials import candidates

OPERATOR = matmul(m=5, n=6, k=7, constant_weights=True)
# Healthy trials must keep the limit of time too.
pytestmark = pytest.mark.alone

SETTINGS = MeasureSettings(run_timeout=1.0, min_repeat_time=0.001, workers=1)
JOB = Job(OPERATOR, (PreparingSketch(),), Target(), SETTINGS)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which each call of a ``prepare`` that takes notes leaves a line."""
    return tmp_path_factory.mktemp("notes") / "notes"


@pytest.fixture(scope="module")
def measurer(notes: Path) -> Iterator[LocalMeasurer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TUNESMITH_TEST_NOTES", str(notes))
        with LocalMeasurer(JOB) as measurer:
            yield measurer


def measured(measurer: LocalMeasurer, behaviour: str) -> Measurement:
    measurer.submit(candidates([config(behaviour)]))
    collected: list[Measurement] = []
    while measurer.pending:
        collected += measurer.collect(60.0)
    (measurement,) = collected
    return measurement


@pytest.mark.parametrize("behaviour", ["right", "unused"])
def test_the_whole_path_is_right(measurer: LocalMeasurer, behaviour: str) -> None:
    measurement = measured(measurer, behaviour)
    assert measurement.outcome is Outcome.NO_ERROR, measurement.message
    assert measurement.run_seconds


@pytest.mark.parametrize(
    ("behaviour", "outcome", "message"),
    [
        ("wrong", Outcome.WRONG_ANSWER, "30 of 30 elements wrong"),
        ("unset", Outcome.WRONG_ANSWER, "5 of 30 elements wrong, 5 of them NaN or never written"),
        ("hang", Outcome.RUN_TIMEOUT, "not done after 1 s"),
        ("abort", Outcome.RUNTIME_DEVICE, "killed by SIGABRT"),
        ("unknown_symbol", Outcome.RUNTIME_DEVICE, "no_such_function_anywhere"),
    ],
)
def test_a_wrong_prepare_fails_the_trial(
    measurer: LocalMeasurer, behaviour: str, outcome: Outcome, message: str
) -> None:
    measurement = measured(measurer, behaviour)
    assert measurement.outcome is outcome
    assert message in measurement.message


def test_weights_are_prepared_once_for_all_trials_that_lay_them_out_alike(
    measurer: LocalMeasurer, notes: Path
) -> None:
    measurement = measured(measurer, "note")
    assert measurement.outcome is Outcome.NO_ERROR, measurement.message
    assert notes.read_text() == "prepared\n"
    # Finalists run again in processes of their own, with the weights that were kept.
    (again,) = measurer.play_off(candidates([config("note")]), rounds=3)
    assert again.outcome is Outcome.NO_ERROR, again.message
    assert notes.read_text() == "prepared\n"


def test_weights_that_may_change_are_laid_out_in_each_call() -> None:
    job = Job(matmul(m=5, n=6, k=7), (PreparingSketch(),), Target(), SETTINGS)
    with LocalMeasurer(job) as measurer:
        measurement = measured(measurer, "right")
        assert measurement.outcome is Outcome.NO_ERROR, measurement.message
        assert measured(measurer, "wrong").outcome is Outcome.WRONG_ANSWER


def test_a_program_that_was_measured_is_not_measured_again() -> None:
    with LocalMeasurer(JOB) as measurer:
        first, second = (measured(measurer, "right") for _ in range(2))
        assert second.outcome is Outcome.NO_ERROR, second.message
        assert second.run_seconds == first.run_seconds
        assert second.program_hash == first.program_hash != ""
        assert second.run_time == 0.0
        assert (first.repeated, second.repeated) == (False, True)
        assert "same program" in second.message
        # What failed is tried again.
        assert measured(measurer, "abort").run_time > 0.0
        assert measured(measurer, "abort").run_time > 0.0
        (again,) = measurer.play_off(candidates([config("right")]), rounds=3)
        assert len(again.run_seconds) == 3
        assert again.run_time > 0.0
        assert not again.repeated


def test_a_program_is_measured_again_if_asked() -> None:
    operator = matmul(m=5, n=6, k=7)
    settings = replace(SETTINGS, measure_again=True)
    with LocalMeasurer(Job(operator, (PreparingSketch(),), Target(), settings)) as measurer:
        first, second = (measured(measurer, "right") for _ in range(2))
    assert second.program_hash == first.program_hash != ""
    assert min(first.run_time, second.run_time) > 0.0
    assert not second.repeated
