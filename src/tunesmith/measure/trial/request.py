"""The request for a trial, and the trial's phases."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from tunesmith.measurement import Candidate
from tunesmith.space import Config


@dataclass(frozen=True)
class Request:
    """A candidate to measure, its config as JSON. ``rounds`` is 0 unless it is for a play-off.

    With ``build_only`` its program is built but not run. ``library`` is the file that keeps its
    machine code, see ``Build``; empty for none.
    """

    id: int
    config: dict[str, Any]
    sketch: str = ""
    rounds: int = 0
    build_only: bool = False
    library: str = ""

    @property
    def candidate(self) -> Candidate:
        """The candidate to measure."""
        return Candidate(Config.from_json(self.config), self.sketch)


class Phase(enum.Enum):
    """The phase of a trial.

    ``READY``: built, waits for the device. ``RESTING``: waits for its next round of a play-off.
    """

    BUILD = enum.auto()
    READY = enum.auto()
    RUN = enum.auto()
    RESTING = enum.auto()
