"""What came of building a program that was never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tunesmith.measurement import Candidate, Outcome
from tunesmith.space import Config


@dataclass(frozen=True)
class BuildResult:
    """How the build of a candidate ended; ``NO_ERROR`` says that there is a program.

    ``resources`` is what it takes of the device, where the compiler tells: for a GPU ``registers``
    of a thread, ``spilled_bytes`` of a thread, ``shared_bytes`` and ``threads`` of a block, and the
    ``occupancy``, the share of a multiprocessor's threads that run at a time. ``seconds`` is the
    wall clock of the build.
    """

    candidate: Candidate
    outcome: Outcome
    message: str = ""
    seconds: float = 0.0
    program_hash: str = ""
    resources: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, candidate: Candidate, message: Mapping[str, Any]) -> Self:
        """From what the server says of a trial that was only to build."""
        return cls(
            candidate,
            Outcome(message["outcome"]),
            message["message"],
            message["build_time"],
            message["program_hash"],
            message["resources"],
        )

    @property
    def config(self) -> Config:
        return self.candidate.config

    @property
    def built(self) -> bool:
        """Whether there is a program."""
        return self.outcome is Outcome.NO_ERROR
