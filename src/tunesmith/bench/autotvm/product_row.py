"""One operator of a network that nobody has tuned: what a model is worth on it.

It is tuned with 500 trials, by the default tuner with all that it has. To see what the model is
worth, the first trials are done once more with the sketches' estimates alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.bench.pages.curves import improvements
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.store import Record, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.favourite import favourite
from tunesmith.transfer.model import GlobalModel, unlearned
from tunesmith.tuners import tuner
from tunesmith.tuning import play_off
from tunesmith.tuning.branches import Branches
from tunesmith.tuning.incumbents import Incumbents
from tunesmith.tuning.result import Found, check_finished
from tunesmith.tuning.tune import tune

AT = (5, 20)
"""The numbers of trials that a row has a share for."""

SHARES = ("untuned", *(f"trials_{count}" for count in AT))
"""The names of these shares, beside that of what is liked most without a trial."""

ALONE = "estimates_alone"
"""Where a row has the shares of a run with the sketches' estimates and no model."""

# In so many rounds those that are compared take turns: on two cores of a shared machine, shares of
# the same programs differed by up to a third from one comparison of seven rounds to the next.
_ROUNDS = 31

# These say more of the machine at that moment than of the program.
_LATE = (Outcome.BUILD_TIMEOUT, Outcome.RUN_TIMEOUT)

Row = dict[str, Any]
Size = tuple[int, int]


@dataclass(frozen=True)
class ProductSettings:
    """How many trials a run has, and how many operators of each network take part."""

    trials: int = 500
    operators: int = 2
    seed: int = 0

    @property
    def size(self) -> Size:
        """What rows have to have in common to be beside each other."""
        return self.trials, self.seed

    def at_most(self, trials: int) -> ProductSettings:
        """The same with no more trials than that."""
        return replace(self, trials=min(trials, self.trials))


def measured_row(
    network: str,
    operator: Operator,
    model: GlobalModel,
    settings: ProductSettings,
    progress: Callable[[Progress], None],
) -> Row:
    """The row of an operator of a network, with a model that does not know it.

    A row has the ``network``, the ``workload``, the ``limit`` of trials and the ``seed``; whether
    the model was kept ``apart`` from operators of the same work, which rows of old do not say; and
    shares of the best that was found: of what the model likes most (``untuned``), and of what a
    run of the first trials ends with, ``trials_5`` and so on. ``estimates_alone`` has the same
    shares of a run that has no model. Raises ``TunesmithError`` where nothing valid is found or the
    best cannot be compared, ``KeyboardInterrupt`` if Ctrl-C ended a run.
    """
    task = Task(operator, Target())
    alone = unlearned(model.sketches)
    with LocalMeasurers() as measurers:
        few = _run(task, alone, settings.at_most(AT[-1]), measurers, progress)
        run = _run(task, model, settings, measurers, progress)
        of_model = _compared(task, model, run, measurers)
        of_estimates = _compared(task, alone, few, measurers)
        found = [*of_model.values(), *of_estimates.values(), run.best.measurement.candidate]
        share = shares_of_fastest(task, found, measurers)
    records = run.records
    curve = improvements([record.measurement.throughput for record in records])
    return {
        "network": network,
        "workload": operator.label,
        "operator": operator.to_json(),
        "origin": origin_now(),
        "seed": settings.seed,
        "limit": settings.trials,
        "apart": True,
        "trials": len(records),
        "valid": sum(record.measurement.valid for record in records),
        "seconds": run.seconds,
        "best_seconds": run.best.seconds,
        **{name: share[candidate] for name, candidate in of_model.items()},
        ALONE: {name: share[candidate] for name, candidate in of_estimates.items()},
        "curve": curve,
    }


@dataclass(frozen=True)
class _Run:
    """The records of a run in their order, the best one, and how long it took in seconds."""

    records: Sequence[Record]
    best: Found
    seconds: float
    seed: int


def _run(
    task: Task,
    model: GlobalModel,
    settings: ProductSettings,
    measurers: LocalMeasurers,
    progress: Callable[[Progress], None],
) -> _Run:
    with open_store("sqlite://") as store:
        result = tune(
            task,
            budget=Budget(trials=settings.trials),
            store=store,
            seed=settings.seed,
            transfer=model,
            measurers=measurers,
            progress=progress,
        )
        check_finished(result)
        assert result.session is not None
        if result.best is None:
            raise TunesmithError(f"nothing valid was found for {task.operator.label}")
        records = list(store.records(task.key, session=result.session))
        return _Run(records, result.best, result.time["total"], settings.seed)


def _compared(
    task: Task, model: GlobalModel, run: _Run, measurers: LocalMeasurers
) -> dict[str, Candidate]:
    """What a model likes most, and what runs of the first trials end with, by the names of the
    shares."""
    compared = {SHARES[0]: _favourite(task, model)}
    search = Branches(joined(problems_of(task)), tuner("auto"), run.seed, model)
    search.find_starts()
    for name, count in zip(SHARES[1:], AT, strict=True):
        first = [record.measurement for record in run.records[:count]]
        compared[name] = _winner(task, first, search.favourite, measurers)
    return compared


def _winner(
    task: Task,
    trials: Sequence[Measurement],
    liked: Candidate | None,
    measurers: LocalMeasurers,
) -> Candidate:
    """What a run of these trials ends with: its best few are measured again, as in ``tune``."""
    problem = joined(problems_of(task))
    incumbents = Incumbents(None, problem.finalists)
    incumbents.liked = liked
    for trial in trials:
        incumbents.count(trial)
    measurer = measurers.measurer(problem.job(MeasureSettings()))
    try:
        play_off.hold(incumbents, measurer, elapsed=0.0)
    finally:
        measurer.close()
    best = incumbents.finalists or trials
    return best[0].candidate


def _favourite(task: Task, model: GlobalModel) -> Candidate:
    problem, config = favourite(problems_of(task), model)
    return Candidate(config, problem.sketch.name)


def shares_of_fastest(
    task: Task, candidates: Sequence[Candidate], measurers: LocalMeasurers
) -> dict[Candidate, float]:
    """The speeds of candidates as shares of that of the fastest of them, 0 for one that fails; all
    are measured again in turn, as single trials are noisy, and once more where one runs out of
    time, which tells of the machine. Raises ``TunesmithError`` where that does not help, or all
    fail."""
    different = list(dict.fromkeys(candidates))
    measurer = measurers.measurer(joined(problems_of(task)).job(MeasureSettings()))
    try:
        for _ in range(2):
            times = {
                it.candidate: it.seconds
                for it in measurer.play_off(different, _ROUNDS)
                if it.outcome not in _LATE
            }
            if len(times) == len(different):
                break
    finally:
        measurer.close()
    least = min(times.values(), default=math.inf)
    if len(times) < len(different) or math.isinf(least):
        why = "all fail" if len(times) == len(different) else "some run out of time"
        raise TunesmithError(
            f"of {task.operator.label} the best configs cannot be compared, {why}: repeat the "
            "command when the machine has less to do"
        )
    return {candidate: least / seconds for candidate, seconds in times.items()}
