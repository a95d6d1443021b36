"""The progress of a tuning run, as the loop reports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tunesmith.measurement import Outcome

PHASES: Final = ("search", "build", "run", "record", "idle")
"""The phases of a run's wall clock. Old runs lack ``record``, which was part of ``search``."""


@dataclass(frozen=True)
class Progress:
    """The state of a run. ``best_seconds`` and ``default_seconds`` are of one call.

    All counts include resumed trials: ``outcomes`` by outcome, ``sketches`` by sketch. ``time``
    holds the seconds of each of ``PHASES``. ``best_sketch`` is that of the best trial, empty if
    there is none.
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
