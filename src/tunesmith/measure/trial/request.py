"""What a trial is asked to do, and where it stands."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from tunesmith.measurement import Candidate
from tunesmith.space import Config


@dataclass(frozen=True)
class Request:
    """A candidate to measure, its config as JSON.

    With ``rounds`` it is for a play-off of so many rounds. With ``build_only`` its program is built
    and never run.
    """

    id: int
    config: dict[str, Any]
    sketch: str = ""
    rounds: int = 0
    build_only: bool = False

    @property
    def candidate(self) -> Candidate:
        """What is to be measured."""
        return Candidate(Config.from_json(self.config), self.sketch)


class Phase(enum.Enum):
    """Where a trial stands until its process has ended.

    ``READY``: built, waits for the device. ``RESTING``: in a play-off, waits for its next round.
    """

    BUILD = enum.auto()
    READY = enum.auto()
    RUN = enum.auto()
    RESTING = enum.auto()
