"""Measurements as JSON: what one process tells another, and what a store keeps."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tunesmith.measurement import Candidate, DeviceState, Measurement, Outcome
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
