"""What a server says of a trial, as what its client's callers get."""

from __future__ import annotations

from tunesmith.measure.local.build_result import BuildResult
from tunesmith.measure.processes.channel import Message
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.space import Config

_NO_CONFIG = Config.from_values({})

KILLED: Message = {
    **Measurement(
        _NO_CONFIG, Outcome.UNKNOWN_ERROR, message="it killed its worker process"
    ).to_json(),
    "resources": None,
}
"""Of a trial whose server cannot tell any more."""


def build_result_of(candidate: Candidate, message: Message) -> BuildResult:
    """What came of a candidate that was to be built alone."""
    return BuildResult(
        candidate=candidate,
        outcome=Outcome(message["outcome"]),
        message=message["message"],
        seconds=message["build_time"],
        program_hash=message["program_hash"],
        resources=message["resources"],
    )
