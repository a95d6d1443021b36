"""How far a run is, for those who watch it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tunesmith.measurement import Measurement, Outcome
from tunesmith.progress import PHASES, Progress
from tunesmith.tuning.incumbents import Incumbents


def progress_of(
    incumbents: Incumbents, sketches: Mapping[str, int], split: Mapping[str, float]
) -> Progress:
    """The progress of a run with these incumbents, so many trials of each of its ``sketches``, and
    its seconds by phase, ``split``."""
    best = next(iter(incumbents.finalists), None)
    known = incumbents.best_seconds
    return Progress(
        trials=incumbents.trials,
        valid=incumbents.outcomes[Outcome.NO_ERROR],
        outcomes=dict(incumbents.outcomes),
        best_seconds=None if math.isinf(known) else known,
        default_seconds=_seconds(incumbents.default),
        time={phase: split[phase] for phase in PHASES},
        elapsed=split["total"],
        sketches=sketches,
        best_sketch="" if best is None else best.sketch,
    )


def _seconds(measurement: Measurement | None) -> float | None:
    return measurement.seconds if measurement is not None and measurement.valid else None
