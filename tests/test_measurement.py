"""Measurements as JSON: what one process tells another, and what a store keeps."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.measurement import (
    LONGEST_PHASE,
    Candidate,
    DeviceState,
    Measurement,
    Outcome,
    _warn_of_phase,
)
from tunesmith.space import Config

CONFIG = Config({"tile": (4, 8), "unroll": 16})
seconds = st.floats(min_value=1e-9, max_value=1e3)
states = st.none() | st.builds(
    DeviceState, *[st.none() | st.integers(0, 5000) for _ in ("sm_mhz", "memory_mhz", "celsius")]
)
measurements = st.builds(
    Measurement,
    st.just(CONFIG),
    st.sampled_from(Outcome),
    run_seconds=st.lists(seconds, max_size=4).map(tuple),
    build_time=seconds,
    run_time=seconds,
    message=st.text(max_size=20),
    program_hash=st.text("0123456789abcdef", max_size=16),
    cut_off=st.booleans(),
    device_state=states,
)


@given(measurement=measurements)
def test_nothing_is_lost_in_json(measurement: Measurement) -> None:
    told = json.loads(json.dumps(measurement.to_json()))
    assert Measurement.from_json(Candidate(CONFIG), told) == measurement


def test_more_may_be_told_beside_it() -> None:
    measurement = Measurement(CONFIG, Outcome.NO_ERROR, (1.0,))
    told = {"id": 3, "resources": None, **measurement.to_json()}
    assert Measurement.from_json(Candidate(CONFIG), told) == measurement


@given(measurement=measurements)
def test_what_makes_sense_stays_as_it_is(measurement: Measurement) -> None:
    if measurement.run_seconds or not measurement.valid:
        assert measurement.checked() is measurement


@pytest.mark.parametrize("seconds", [math.nan, math.inf, 0.0, -1.0, None, "1.0", np.float32(-2)])
def test_a_time_that_is_none_is_a_failure(seconds: Any) -> None:
    found = Measurement(CONFIG, Outcome.NO_ERROR, (1.0, seconds)).checked()
    assert found.outcome is Outcome.UNKNOWN_ERROR
    shown = -2.0 if isinstance(seconds, np.float32) else seconds
    assert found.message == f"the measurer reports a call of {shown!r} seconds"
    assert found.run_seconds == ()


def test_times_whose_median_is_too_large_are_a_failure() -> None:
    found = Measurement(CONFIG, Outcome.NO_ERROR, (1.7e308, 1.0, 1.5e308)).checked()
    assert found.outcome is Outcome.NO_ERROR, "the one in the middle counts"
    found = Measurement(CONFIG, Outcome.NO_ERROR, (1.7e308, 1.5e308)).checked()
    assert (found.outcome, found.run_seconds) == (Outcome.UNKNOWN_ERROR, ())
    assert found.message == "the measurer reports a call of 1.7e+308 seconds"


def test_a_valid_trial_without_a_time_is_a_failure() -> None:
    found = Measurement(CONFIG, Outcome.NO_ERROR).checked()
    assert (found.outcome, found.message) == (
        Outcome.UNKNOWN_ERROR,
        "the measurer reports no time of a call",
    )


@pytest.mark.parametrize(
    ("phase", "counted"),
    [
        *[(math.nan, 0.0), (-1.0, 0.0), (None, 0.0), ("2.0", 0.0)],
        *[(math.inf, LONGEST_PHASE), (1e300, LONGEST_PHASE), (2.0, 2.0)],
    ],
)
def test_a_phase_takes_no_less_than_nothing_and_no_more_than_a_week(
    phase: Any, counted: float
) -> None:
    found = Measurement(CONFIG, Outcome.NO_ERROR, (1.0,), build_time=phase, run_time=1.0).checked()
    assert (found.build_time, found.run_time) == (counted, 1.0)
    assert found == replace(found.checked(), config=CONFIG)


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        (math.nan, "no number; it counts as 0"),
        (-1.0, "less than 0; it counts as 0"),
        (math.inf, "longer than a week; it counts as a week"),
    ],
)
def test_odd_phases_are_told_of_once(
    phase: float, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    _warn_of_phase.cache_clear()
    odd = Measurement(CONFIG, Outcome.NO_ERROR, (1.0,), build_time=phase, run_time=1.0)
    for _ in range(3):
        odd.checked()
    assert [each.getMessage() for each in caplog.records] == [
        f"tunesmith: a trial has a build time that is {told}: correct what measured it"
    ]


def test_throughput_is_finite() -> None:
    assert Measurement(CONFIG, Outcome.NO_ERROR, (5e-324,)).throughput == sys.float_info.max
