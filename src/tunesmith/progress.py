"""How far a tuning run is: what the loop tells whoever watches it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tunesmith.measurement import Outcome

PHASES: Final = ("search", "build", "run", "record", "idle")
"""What the wall clock of a run is spent on. Runs of old lack ``record``: it was in ``search``."""


@dataclass(frozen=True)
class Progress:
    """How far a run is. Times are in seconds; ``best_seconds`` and ``default_seconds`` of one call.

    ``outcomes`` counts the trials of each class, ``time`` holds the seconds of each phase
    of ``PHASES``. Trials of resumed runs count. ``sketches`` counts the trials of each sketch, and
    ``best_sketch`` is that of the best; empty where there is none.
    """

    trials: int
    valid: int
    outcomes: Mapping[Outcome, int]
    best_seconds: float | None
    default_seconds: float | None
    time: Mapping[str, float]
    elapsed: float
    sketches: Mapping[str, int] = field(default_factory=dict)
    best_sketch: str = ""
