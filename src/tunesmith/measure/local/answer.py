"""What a server says of a trial, as what its client's callers get."""

from __future__ import annotations

from tunesmith.measure.local.build_result import BuildResult
from tunesmith.measure.processes.channel import Message
from tunesmith.measurement import DeviceState, Measurement, Outcome
from tunesmith.space import Config

KILLED: Message = {
    "outcome": Outcome.UNKNOWN_ERROR.value,
    "message": "it killed its worker process",
    "run_seconds": (),
    "cut_off": False,
    "device_state": None,
    "program_hash": "",
    "resources": None,
    "build_time": 0.0,
    "run_time": 0.0,
}
"""Of a trial whose server cannot tell any more."""


def measurement_of(config: Config, message: Message) -> Measurement:
    """The measurement of a config that was to be built and run."""
    state = message["device_state"]
    return Measurement(
        config=config,
        outcome=Outcome(message["outcome"]),
        run_seconds=tuple(message["run_seconds"]),
        build_time=message["build_time"],
        run_time=message["run_time"],
        message=message["message"],
        program_hash=message["program_hash"],
        cut_off=message["cut_off"],
        device_state=None if state is None else DeviceState(**state),
    )


def build_result_of(config: Config, message: Message) -> BuildResult:
    """What came of a config that was to be built alone."""
    return BuildResult(
        config=config,
        outcome=Outcome(message["outcome"]),
        message=message["message"],
        seconds=message["build_time"],
        program_hash=message["program_hash"],
        resources=message["resources"],
    )
