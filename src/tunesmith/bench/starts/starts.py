"""``tunesmith bench starts``: what the first trials find, with the model's good starts and without.

Each workload is tuned twice, from nothing and for the same number of trials. What counts is the
best of the first trials as a share of the best that any trial of the two runs found.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.pages.curves import FIRST_TRIALS, improvements, share_at
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.operators import Operator
from tunesmith.progress import Progress
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.result import check_finished
from tunesmith.tuning.tune import tune

WORKLOADS = (
    *("resnet18.C1", "resnet18.C2", "resnet18.C4", "resnet18.C5", "resnet18.C9", "resnet18.C11"),
    *("mobilenet.dw2", "mobilenet.dw7", "mobilenet.pw3", "mobilenet.pw9"),
    *("matmul.512", "opevo.MM1", "dense.64x768x3072"),
)
"""Some of each kind that ``tunesmith bench operators`` has."""

RUNS = {"prior": True, "no-prior": False}
"""The two runs of a workload, and whether they begin with what the model likes."""

MILESTONES = (1, 5, 10, FIRST_TRIALS, 50, 100, 200, 500, 1000)
"""Numbers of trials that the page has a line for."""

Row = dict[str, Any]
Watch = Callable[[int, float], AbstractContextManager[Callable[[Progress], None]]]


@dataclass(frozen=True)
class StartsSettings:
    """How many trials a run has, and the seed of both.

    Raises ``UsageError`` for so few trials that there is nothing to compare the start with.
    """

    trials: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trials <= FIRST_TRIALS:
            raise UsageError(
                f"trials must be more than the first {FIRST_TRIALS}, not {self.trials}"
            )


def measure_starts(
    name: str,
    operator: Operator,
    settings: StartsSettings,
    *,
    known: Mapping[str, Any] | None,
    watch: Watch,
) -> Iterator[Row]:
    """The row of a workload after each run that it lacked; nothing for one that is complete.

    A row holds ``runs`` by name, each with its ``origin``, ``trials``, ``valid``, ``seconds`` of
    wall clock and ``curve``: pairs of a trial's number and its calls a second, one for each trial
    that was better than all before. Raises ``TunesmithError`` if a run finds nothing,
    ``KeyboardInterrupt`` if Ctrl-C ended it.
    """
    row: Row = {"workload": name, "operator": operator.to_json(), "runs": {}}
    if known is not None:
        row["runs"] = {
            run: figures
            for run, figures in known["runs"].items()
            if figures["trials"] >= settings.trials and figures["seed"] == settings.seed
        }
    for run, prior in RUNS.items():
        if run in row["runs"]:
            continue
        with watch(settings.trials, float(operator.flops)) as progress:
            figures = _run(Task(operator, Target()), settings, progress, prior=prior)
        if not figures["curve"]:
            raise TunesmithError(f"nothing valid was found in {settings.trials} trials")
        row = {**row, "runs": {**row["runs"], run: figures}}
        yield row


def _run(
    task: Task, settings: StartsSettings, progress: Callable[[Progress], None], *, prior: bool
) -> dict[str, Any]:
    with open_store("sqlite://") as store:
        result = tune(
            task,
            budget=Budget(trials=settings.trials),
            store=store,
            seed=settings.seed,
            prior=prior,
            progress=progress,
        )
        check_finished(result)
        assert result.session is not None
        records = store.records(task.key, session=result.session)
        speeds = [record.measurement.throughput for record in records]
    return {
        "origin": origin_now(),
        "trials": result.trials,
        "seed": settings.seed,
        "valid": result.valid,
        "seconds": result.time["total"],
        "curve": improvements(speeds),
    }


def complete(rows: Iterable[Row]) -> list[Row]:
    """The rows that have both runs."""
    return [row for row in rows if set(RUNS) <= set(row["runs"])]


def shares(row: Mapping[str, Any], run: str) -> list[tuple[int, float]]:
    """The curve of a run as shares of the best that any trial of the workload's runs found."""
    curves = {name: figures["curve"] for name, figures in row["runs"].items()}
    best = max(speed for curve in curves.values() for _, speed in curve)
    return [(number, speed / best) for number, speed in curves[run]]


def median_share(rows: Sequence[Row], run: str, trials: float) -> float:
    """What the first trials reach in the median over workloads; 0 where there are none."""
    reached = [share_at(shares(row, run), trials) for row in rows]
    return statistics.median(reached) if reached else 0.0


def milestones(rows: Sequence[Row]) -> list[int]:
    """Those numbers of trials that all runs have."""
    least = min((run["trials"] for row in rows for run in row["runs"].values()), default=0)
    return [number for number in MILESTONES if number <= least]
