"""How soon simulated devices find a good config of a space whose best is known."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.compare.simulated import RecordedSpace
from tunesmith.bench.scale.devices import Improvement
from tunesmith.bench.scale.fleet import FleetSettings
from tunesmith.bench.scale.throughput import simulate_fleet
from tunesmith.errors import UsageError
from tunesmith.measure.recorded.recording import Recording
from tunesmith.store import open_store
from tunesmith.tuners import Tuner

GOAL = 0.95
"""So much of the speed of the best config of the space."""


@dataclass(frozen=True)
class GoalSettings:
    """Runs of so many ``trials``, ``repeats`` times with each number of ``devices``.

    Raises ``UsageError`` for what makes no sense.
    """

    devices: tuple[int, ...] = (1, 10, 100, 1_000)
    trials: int = 2_000
    repeats: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        for count in self.devices:
            FleetSettings(count)
        for name in ("trials", "repeats"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")


def measure_goal(
    tuner: Tuner, devices: int, settings: GoalSettings, recording: Recording
) -> dict[str, Any]:
    """A row, JSON-ready. A trial takes as long as it took when it was recorded.

    ``seconds_to_95`` and ``trials_to_95`` have a number for each run: by the simulated clock, and
    how many trials the host knew of; None if it never knew of such a config.
    """
    wanted = float(recording.seconds.min()) / GOAL
    seconds: list[float | None] = []
    trials: list[int | None] = []
    for seed in range(settings.seed, settings.seed + settings.repeats):
        with open_store("sqlite://") as store:
            fleet, _ = simulate_fleet(
                {"": RecordedSpace(recording)},
                FleetSettings(devices, trial_seconds=None, seed=seed),
                tuner,
                store,
                seconds=1e-3,
                trials=settings.trials,
                seed=seed,
            )
        at, known = reached(fleet.improvements, wanted)
        seconds.append(at)
        trials.append(known)
    return {
        "tuner": tuner.name,
        "devices": devices,
        "seconds_to_95": seconds,
        "trials_to_95": trials,
    }


def reached(improvements: Sequence[Improvement], wanted: float) -> tuple[float | None, int | None]:
    """When the host knew of a call of at most ``wanted`` seconds, and after how many trials."""
    found = ((it.at, it.trials) for it in improvements if it.seconds <= wanted)
    return next(found, (None, None))


def median_of(values: Sequence[float | None]) -> float | None:
    """The median of what runs took, of which some did not get there; None if it is one of these."""
    middle = statistics.median_high([float("inf") if it is None else it for it in values])
    return None if middle == float("inf") else middle


def with_speedups(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their medians, and ``speedup``: over the same tuner's first row."""
    found: list[dict[str, Any]] = []
    for row in rows:
        seconds = median_of(row["seconds_to_95"])
        first = next((it for it in found if it["tuner"] == row["tuner"]), None)
        base = seconds if first is None else first["median_seconds"]
        found.append(
            {
                **row,
                "median_seconds": seconds,
                "median_trials": median_of(row["trials_to_95"]),
                "speedup": base / seconds if base and seconds else None,
            }
        )
    return found
