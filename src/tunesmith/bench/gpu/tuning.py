"""Tunes a workload for a GPU, and says how well the GPU was made use of meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tunesmith.bench.peers.sides import kernel_side
from tunesmith.budget import Budget, Stop
from tunesmith.errors import TunesmithError
from tunesmith.operators import Operator
from tunesmith.progress import Progress
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune

Watch = Callable[[Progress], None]

# Of less time nothing can be told of the pace, in seconds.
_SHORTEST = 0.1

_PACE = ("start_seconds", "trials_per_second", "valid_per_second", "gpu_idle")


@dataclass
class Pace:
    """Follows a run from its first result on: before that, there was nothing to run.

    ``resumed`` trials are those of earlier runs.
    """

    resumed: int | None = None
    first: Progress | None = None
    last: Progress | None = None

    def update(self, state: Progress) -> None:
        """Take the latest state."""
        if self.resumed is None:
            self.resumed = state.trials
        if self.first is None and state.trials > self.resumed:
            self.first = state
        self.last = state

    def fields(self) -> dict[str, float | None]:
        """``start_seconds`` until the first result; ``trials_per_second``, ``valid_per_second`` of
        them, and ``gpu_idle`` after it, a share of the time. None where too little happened."""
        first, last = self.first, self.last
        if first is None or last is None or last.trials == first.trials:
            return dict.fromkeys(_PACE)
        seconds = last.elapsed - first.elapsed
        if seconds < _SHORTEST:
            return dict.fromkeys(_PACE)
        return {
            "start_seconds": first.elapsed,
            "trials_per_second": (last.trials - first.trials) / seconds,
            "valid_per_second": (last.valid - first.valid) / seconds,
            "gpu_idle": _idle(last.time["run"] - first.time["run"], seconds),
        }


def _idle(busy: float, seconds: float) -> float:
    return min(1.0, max(0.0, 1.0 - busy / seconds))


def tuned_fields(
    operator: Operator,
    target: Target,
    store: Store,
    seconds: float,
    *,
    seed: int,
    fresh: bool,
    watch: Watch,
) -> tuple[dict[str, Any], Stop]:
    """The fields of a row about tuning for so many seconds, with ``auto``, and why it ended.

    Of earlier runs in the store are the trials that the run continued, unless ``fresh``; they are
    ``earlier_trials``, and no part of ``trials`` and of what is told of the time. Raises
    ``TunesmithError`` if nothing valid was found, or the store failed.
    """
    pace = Pace()

    def both(state: Progress) -> None:
        pace.update(state)
        watch(state)

    begun = time.monotonic()
    result = tune(
        Task(operator, target),
        budget=Budget(seconds=seconds),
        store=store,
        seed=seed,
        fresh=fresh,
        progress=both,
    )
    lasted = time.monotonic() - begun
    if result.failure:
        raise TunesmithError(result.failure)
    if result.best is None:
        if result.stopped is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        raise TunesmithError(_nothing(result, lasted))
    return {
        **_best(result),
        **_trials(result),
        "seconds": lasted,
        "pace": pace.fields(),
        "gpu_idle": _idle(result.time["run"], lasted),
        "trials_per_second": result.own_trials / lasted,
    }, result.stopped


def _nothing(result: Result, seconds: float) -> str:
    ways = ", ".join(f"{outcome.name} {n}" for outcome, n in result.outcomes.items() if n)
    found = f"{result.trials} trials: {ways}" if ways else "no trial ended"
    return f"nothing valid was found in {seconds:.0f} s ({found})"


def _best(result: Result) -> dict[str, Any]:
    best = result.best
    assert best is not None
    side = kernel_side(best)
    default = result.default
    return {
        "sketch": side["sketch"],
        "config": side["config"],
        "target": side["target"],
        "program_hash": best.measurement.program_hash,
        "best_seconds": best.seconds,
        "gflops": best.gflops,
        "default_seconds": None if default is None else default.seconds,
    }


def _trials(result: Result) -> dict[str, Any]:
    return {
        "trials": result.own_trials,
        "earlier_trials": result.resumed,
        "outcomes": {outcome.name: count for outcome, count in result.outcomes.items() if count},
        "sketches": {name: asdict(trials) for name, trials in result.sketches.items()},
        "time": dict(result.time),
    }
