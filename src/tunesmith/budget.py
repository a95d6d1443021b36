"""When a tuning run stops."""

from __future__ import annotations

import enum
import math
import numbers
from dataclasses import dataclass

from tunesmith.errors import UsageError


class Stop(enum.Enum):
    """Why a run ended. The value is stored."""

    TRIALS = "trials"
    SECONDS = "seconds"
    TARGET = "target"
    PATIENCE = "patience"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"
    STORE = "store"
    LOST = "lost"
    TERMINATED = "terminated"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        """The reason in words."""
        return _MEANINGS[self]


_MEANINGS = {
    Stop.TRIALS: "the budget of trials is used up",
    Stop.SECONDS: "the time is up",
    Stop.TARGET: "the target speed is reached",
    Stop.PATIENCE: "no improvement for as many trials as allowed",
    Stop.EXHAUSTED: "no further config was found",
    Stop.INTERRUPTED: "interrupted",
    Stop.STORE: "the store could not be written",
    Stop.LOST: "nothing is left to measure on",
    Stop.TERMINATED: "terminated from outside",
    Stop.FAILED: "measuring failed",
}


# Limits that count trials, by name.
_COUNTS = ("trials", "patience")


def _is_positive(value: object) -> bool:
    return isinstance(value, numbers.Real) and 0 < float(value) < math.inf


@dataclass(frozen=True)
class Budget:
    """The limits of a run. The first one reached ends it; None means no limit.

    ``seconds`` are of this run only, by the wall clock, or in a replay by the simulated one;
    ``trials`` includes resumed trials. ``target_gflops`` and ``target_seconds`` (of one call) are a
    speed that is good enough. ``patience`` is the number of consecutive trials without improvement.
    Raises ``UsageError`` for a limit that is not positive.
    """

    seconds: float | None = None
    trials: int | None = None
    target_gflops: float | None = None
    target_seconds: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name, value in self.to_json().items():
            if value is not None and not _is_positive(value):
                raise UsageError(f"budget: {name} must be positive, not {value!r}")
            if value is not None and name in _COUNTS:
                if value != int(value):
                    raise UsageError(f"budget: {name} must be a whole number, not {value!r}")
                object.__setattr__(self, name, int(value))
            elif value is not None and not isinstance(value, int | float):
                object.__setattr__(self, name, float(value))

    def to_json(self) -> dict[str, float | int | None]:
        """The limits by name."""
        return {
            "seconds": self.seconds,
            "trials": self.trials,
            "target_gflops": self.target_gflops,
            "target_seconds": self.target_seconds,
            "patience": self.patience,
        }

    def stop(
        self,
        *,
        elapsed: float,
        trials: int,
        best_seconds: float,
        since_improvement: int,
        flops: float | None,
    ) -> Stop | None:
        """The reason to stop now, or None. ``best_seconds`` is infinite without a valid trial."""
        target = self.target_seconds or 0.0
        if self.target_gflops is not None and flops:
            target = max(target, flops / self.target_gflops / 1e9)
        if best_seconds <= target:
            return Stop.TARGET
        if self.trials is not None and trials >= self.trials:
            return Stop.TRIALS
        if self.seconds is not None and elapsed >= self.seconds:
            return Stop.SECONDS
        if self.patience is not None and since_improvement >= self.patience:
            return Stop.PATIENCE
        return None
