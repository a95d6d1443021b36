from __future__ import annotations

import dataclasses
import math

from hypothesis import given
from hypothesis import strategies as st

from tests.reports.samples import empty_run, measurements, tuned_run
from tunesmith.measurement import Measurement, Outcome
from tunesmith.reports import MeasuredConfig, trial_points
from tunesmith.space import Config

CONFIG = Config({"x": 1})


def _valid(seconds: float) -> Measurement:
    return Measurement(CONFIG, Outcome.NO_ERROR, (seconds,))


def test_trials_are_numbered_in_the_order_of_time() -> None:
    failed = Measurement(CONFIG, Outcome.WRONG_ANSWER, build_time=2.0, run_time=1.0)
    points = trial_points([(_valid(3.0), 20.0), (failed, 10.0)])
    assert [(point.index, point.elapsed) for point in points] == [(1, 10.0), (2, 20.0)]
    assert (points[0].seconds, points[0].build_time, points[0].run_time) == (None, 2.0, 1.0)
    assert points[1].seconds == 3.0


def test_only_a_valid_measurement_has_a_result() -> None:
    assert MeasuredConfig.of(_valid(2.0)) == MeasuredConfig(2.0, {"x": 1})
    assert MeasuredConfig.of(Measurement(CONFIG, Outcome.BUILD_TIMEOUT)) is None
    assert MeasuredConfig.of(None) is None


@given(st.integers(0, 60), st.integers(0, 5))
def test_improvements_are_the_running_minima(trials: int, seed: int) -> None:
    timed = measurements(trials, seed)
    report = dataclasses.replace(empty_run(), trials=trial_points(timed))
    best = math.inf
    expected: list[int] = []
    for index, (measurement, _) in enumerate(timed, start=1):
        if measurement.seconds < best:
            best = measurement.seconds
            expected.append(index)
    assert [trial.index for trial in report.improvements] == expected


def test_outcomes_count_every_trial_in_the_order_of_the_classes() -> None:
    report = tuned_run()
    codes = [outcome.value for outcome in report.outcomes]
    assert codes == sorted(codes)
    assert sum(report.outcomes.values()) == len(report.trials) == 500
    assert report.outcomes[Outcome.NO_ERROR] == len(report.valid)


def test_results_are_sorted_by_time() -> None:
    names = [name for name, _ in tuned_run().results]
    assert names == ["best found", "PyTorch", "default schedule"]
    assert empty_run().results == []


def test_elapsed_covers_phases_and_trials() -> None:
    report = tuned_run()
    assert report.elapsed >= max(trial.elapsed for trial in report.trials)
    assert report.elapsed >= sum(report.time.values())
    assert empty_run().elapsed == 0.0
