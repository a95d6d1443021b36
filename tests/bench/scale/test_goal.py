"""How soon simulated devices find a good config."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunesmith.bench.scale.devices import Improvement
from tunesmith.bench.scale.goal import (
    GOAL,
    GoalSettings,
    measure_goal,
    median_of,
    reached,
    with_speedups,
)
from tunesmith.errors import UsageError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.tuners import tuner

RECORDED = Path(__file__).parents[3] / "data" / "replay" / "depthwise" / "zen5.json.gz"


def test_more_devices_are_sooner_there() -> None:
    recording = load_recording(RECORDED)
    settings = GoalSettings(trials=len(recording.configs), repeats=3)
    one, many = (measure_goal(tuner("random"), n, settings, recording) for n in (1, 20))
    for row in (one, many):
        assert len(row["seconds_to_95"]) == len(row["trials_to_95"]) == 3
        for seconds, trials in zip(row["seconds_to_95"], row["trials_to_95"], strict=True):
            assert seconds is None or (seconds > 0 and 1 <= trials <= settings.trials)
    slow, fast = median_of(one["seconds_to_95"]), median_of(many["seconds_to_95"])
    assert slow is not None and fast is not None
    assert fast < slow / 4


def test_what_is_reached() -> None:
    improvements = [Improvement(3.0, 2.0, 1), Improvement(8.0, 1.05, 5), Improvement(9.0, 1.0, 6)]
    assert reached(improvements, 1.0 / GOAL) == (8.0, 5)
    assert reached(improvements, 0.9) == (None, None)


def test_runs_that_do_not_get_there_count() -> None:
    assert median_of([3.0, None, 1.0]) == 3.0
    assert median_of([3.0, None, None]) is None
    assert median_of([3.0, None]) is None


def test_speedups_are_over_the_first_row_of_the_tuner() -> None:
    rows = [
        {"tuner": name, "devices": devices, "seconds_to_95": seconds, "trials_to_95": [7]}
        for name, devices, seconds in [
            *(("auto", 1, [40.0]), ("auto", 10, [8.0])),
            *(("grid", 1, [None]), ("grid", 10, [3.0])),
        ]
    ]
    assert [row["speedup"] for row in with_speedups(rows)] == [1.0, 5.0, None, None]


def test_settings_make_sense() -> None:
    with pytest.raises(UsageError, match="at least one device is needed, not 0"):
        GoalSettings((0,))
    with pytest.raises(UsageError, match="repeats must be positive, not 0"):
        GoalSettings(repeats=0)
