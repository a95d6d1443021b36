"""How many simulated devices one host process keeps busy."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.bench.compare.simulated import Answers
from tunesmith.bench.scale.clock import host_clock
from tunesmith.bench.scale.fleet import FleetSettings, SimulatedFleet
from tunesmith.bench.scale.problem import AnswersOf, KnownProblem, synthetic_sketches
from tunesmith.errors import UsageError
from tunesmith.progress import Progress
from tunesmith.store import Store, open_store
from tunesmith.tuners import Tuner
from tunesmith.tuning.tune import tune


@dataclass(frozen=True)
class ThroughputSettings:
    """Each tuner has a run with each number of ``devices``, of at least so many ``seconds`` by the
    simulated clock and so many ``trials``.

    Raises ``UsageError`` for what makes no sense.
    """

    devices: tuple[int, ...] = (1, 10, 100, 1_000, 10_000)
    seconds: float = 30.0
    trials: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.devices:
            raise UsageError("name at least one number of devices")
        for count in self.devices:
            FleetSettings(count)
        if not 0 < self.seconds < math.inf:
            raise UsageError(f"seconds must be positive, not {self.seconds}")
        if self.trials < 1:
            raise UsageError(f"trials must be positive, not {self.trials}")


def measure_throughput(
    tuner: Tuner,
    devices: int,
    settings: ThroughputSettings,
    store: str | None = None,
    watch: Callable[[float, int], None] | None = None,
) -> dict[str, Any]:
    """One run, JSON-ready: see ``docs/command-line.md`` for what the names mean.

    The records go to a new SQLite file, which is removed afterwards, or to ``store``. ``watch`` is
    told the simulated seconds and the trials so far. Raises ``StoreError`` where these cannot be
    saved.
    """
    with _store(store) as opened:
        fleet, stopped = simulate_fleet(
            synthetic_sketches(),
            FleetSettings(devices, seed=settings.seed),
            tuner,
            opened,
            seconds=settings.seconds,
            trials=settings.trials,
            seed=settings.seed,
            watch=watch,
        )
    usage = fleet.usage()
    return {
        "tuner": tuner.name,
        "devices": devices,
        "busy": usage.busy,
        "host_share": usage.host_share,
        "host_ms_per_trial": 1e3 * usage.host / fleet.collected if fleet.collected else None,
        "proposals_per_second": fleet.submitted / usage.seconds,
        "records_per_second": fleet.collected / usage.seconds,
        "trials": fleet.collected,
        "lost": fleet.lost,
        "seconds": usage.seconds,
        "best_seconds": fleet.improvements[-1][1] if fleet.improvements else None,
        "improvements": fleet.improvements,
        "stopped": stopped,
    }


def simulate_fleet(
    sketches: Mapping[str, Answers],
    settings: FleetSettings,
    tuner: Tuner,
    store: Store,
    *,
    seconds: float,
    trials: int,
    seed: int,
    watch: Callable[[float, int], None] | None = None,
    host: Callable[[], float] = host_clock,
) -> tuple[SimulatedFleet, str]:
    """A run of the real loop with a fleet, which is returned with the reason why the run ended.

    Raises ``StoreError`` where a trial cannot be saved.
    """
    answers = AnswersOf(sketches)
    fleet = SimulatedFleet(answers, settings, seconds=seconds, trials=trials, host=host)

    def tell(progress: Progress) -> None:
        if watch is not None:
            watch(fleet.seconds, progress.trials)

    problem = KnownProblem(sketches, fleet)
    result = tune(problem, tuner, store=store, seed=seed, fresh=True, progress=tell)
    return fleet, result.stopped.value


@contextlib.contextmanager
def _store(location: str | None) -> Iterator[Store]:
    with contextlib.ExitStack() as stack:
        if location is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tunesmith-bench-"))
            location = str(Path(folder) / "scale.db")
        yield stack.enter_context(open_store(location))
