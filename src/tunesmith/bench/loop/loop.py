"""``tunesmith bench loop``: how fast the loop itself is, and what it finds in 90 seconds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from tunesmith.bench.against_torch import compare_with_torch
from tunesmith.bench.loop.store_speed import measure_store
from tunesmith.bench.peers.sides import has_torch
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.operators import workload
from tunesmith.progress import Progress
from tunesmith.task import Task
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune

LAYER = "resnet18.C8"
# Memory is compared between this trial, when all is loaded, and the last one.
_SETTLED_TRIALS = 100
_MIB = 2**20


@dataclass(frozen=True)
class LoopSettings:
    """How long each part takes: trials of the random run, seconds of the tuning run, records.

    Raises ``UsageError`` for one that is not positive.
    """

    trials: int = 500
    seconds: float = 90.0
    records: int = 1_000_000
    pairs: int = 25
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("trials", "seconds", "records", "pairs"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")


def measure_loop(settings: LoopSettings, say: Callable[[str], None]) -> dict[str, Any]:
    """All figures, JSON-ready; ``say`` is told what goes on.

    Raises ``TunesmithError`` if the tuning run is too short to find anything.
    """
    with tempfile.TemporaryDirectory(prefix="tunesmith-bench-") as folder:
        say(f"random search, {settings.trials} trials of {LAYER} ...")
        random = measure_random(Path(folder) / "random.db", settings)
        say(f"tuning {LAYER} for {settings.seconds:g} s ...")
        tuned = measure_tuned(Path(folder) / "tuned.db", settings, say)
        say(f"a store of {settings.records} records ...")
        store = measure_store(Path(folder), settings.records)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "layer": LAYER,
        "settings": asdict(settings),
        "random": random,
        "tuned": tuned,
        "store": store,
    }


def measure_random(store: Path, settings: LoopSettings) -> dict[str, Any]:
    """Trials a second, the time split, and this process's memory (MiB) along the way."""
    process = psutil.Process()
    memory: dict[int, float] = {}

    def watch(progress: Progress) -> None:
        memory[progress.trials] = process.memory_info().rss / _MIB

    result = _tune("random", Budget(trials=settings.trials), store, settings.seed, watch)
    settled = [used for trials, used in memory.items() if trials >= _SETTLED_TRIALS]
    return {
        **_speed(result),
        "memory_mib": max(memory.values()),
        "memory_growth_mib": settled[-1] - settled[0] if settled else 0.0,
        "processes_left": len(process.children(recursive=True)),
    }


def measure_tuned(
    store: Path, settings: LoopSettings, say: Callable[[str], None]
) -> dict[str, Any]:
    """A genetic run with a time limit, its best compared with PyTorch in paired rounds."""
    result = _tune("genetic", Budget(seconds=settings.seconds), store, settings.seed, None)
    if result.best is None or result.default is None:
        why = result.reason or "the default is not among what was measured"
        raise TunesmithError(f"{settings.seconds:g} s of tuning are too few: {why}")
    found: dict[str, Any] = {
        **_speed(result),
        "default": result.default.to_json(),
        "best": result.best.to_json(),
        "gain": result.default.seconds / result.best.seconds,
    }
    if has_torch():
        say("comparing with PyTorch, in turn ...")
        found["torch"] = asdict(compare_with_torch(result.best, settings.pairs))
    else:
        say("PyTorch is not installed: no comparison")
    return found


def _tune(
    tuner: str, budget: Budget, store: Path, seed: int, watch: Callable[[Progress], None] | None
) -> Result:
    return tune(Task(workload(LAYER)), tuner, budget, store=store, seed=seed, progress=watch)


def _speed(result: Result) -> dict[str, Any]:
    total = result.time["total"]
    return {
        "trials": result.trials,
        "valid": result.valid,
        "repeated": result.repeated,
        "valid_trials_per_second": result.valid / total,
        "measured_per_second": (result.valid - result.repeated) / total,
        "time": dict(result.time),
        "overhead_share": (result.time["search"] + result.time["record"]) / total,
    }
