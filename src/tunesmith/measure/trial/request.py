"""The request for a trial, and the trial's phases."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Request:
    """A config to measure, as JSON. ``rounds`` is that of a play-off, 0 for a normal trial.

    With ``build_only`` its program is built but not run.
    """

    id: int
    config: dict[str, Any]
    rounds: int = 0
    build_only: bool = False


class Phase(enum.Enum):
    """The phase of a trial.

    ``READY``: built, waits for the device. ``RESTING``: waits for its next round of a play-off.
    """

    BUILD = enum.auto()
    READY = enum.auto()
    RUN = enum.auto()
    RESTING = enum.auto()
