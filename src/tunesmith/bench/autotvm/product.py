"""What a user of a network that nobody has tuned gets: without a trial, of five, of twenty.

Each network is held out as a whole: the model that helps has not seen an operator of it, nor one of
the same work in another network. Then its dearest operators are tuned with 500 trials, by the
default tuner with all that it has. To see what the model is worth, the first trials are done once
more with the sketches' estimates alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.bench.pages.curves import improvements
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.budget import Budget, Stop
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.machine import machine_for
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measurement import Candidate, Measurement
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.store import Record, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.favourite import favourite
from tunesmith.transfer.held_out import apart_from, work_of
from tunesmith.transfer.model import GlobalModel, learn, problem_of, unlearned
from tunesmith.transfer.training_set import Series
from tunesmith.tuners import tuner
from tunesmith.tuning import play_off
from tunesmith.tuning.branches import Branches
from tunesmith.tuning.incumbents import Incumbents
from tunesmith.tuning.result import Found
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


def size_of(row: Mapping[str, Any]) -> Size:
    """The trials that the run of a row may have had, and its seed."""
    return row.get("limit", row["trials"]), row["seed"]


def of_most_trials(rows: Sequence[Row]) -> list[Row]:
    """The rows of one size: that with the most trials, and of the lowest seed."""
    if not rows:
        return []
    size = max(map(size_of, rows), key=lambda each: (each[0], -each[1]))
    return [row for row in rows if size_of(row) == size]


def without(rows: Sequence[Row], row: Row) -> list[Row]:
    """The rows that may be beside a new one: of other runs, with models kept ``apart``."""
    return [each for each in rows if each.get("apart") and _identity(each) != _identity(row)]


def elsewhere(rows: Sequence[Row], settings: ProductSettings) -> list[Row]:
    """The rows of these settings that were not measured on a machine like this one."""
    own = machine_for("cpu")["fingerprint"]
    of_size = [row for row in rows if size_of(row) == settings.size]
    return [row for row in of_size if row["origin"]["machine"]["fingerprint"] != own]


def _identity(row: Row) -> tuple[str, str, Size]:
    return row["network"], row["workload"], size_of(row)


def held_out(series: Sequence[Series], network: str) -> GlobalModel:
    """A model that has learned from everything but operators of the work of a network's."""
    held = [each for each in series if network in each.networks]
    left = [series[number] for number in apart_from(held, series)]
    return learn(left, origin={"scope": f"without {network}"})


def chosen_operators(series: Sequence[Series], count: int) -> dict[str, list[Operator]]:
    """The dearest operators of each network, of works that were not chosen for one before it."""
    chosen: dict[str, list[Operator]] = {}
    works: set[Operator] = set()
    for network in networks_of(series):
        left = [each for each in series if work_of(each.task.operator) not in works]
        chosen[network] = dearest(left, network, count)
        works.update(work_of(operator) for operator in chosen[network])
    return chosen


def dearest(series: Sequence[Series], network: str, count: int) -> list[Operator]:
    """The operators of a network with the most work, of different kinds if it has some: one of the
    kind with the most, then one of the next, and so on. Images come one at a time."""
    of_kinds: dict[str, list[Operator]] = {}
    operators = {each.task.operator for each in series if network in each.networks}
    operators = {it for it in operators if not hasattr(it, "h") or getattr(it, "n", 1) == 1}
    for operator in sorted(operators, key=lambda it: (-it.flops, it.key)):
        of_kinds.setdefault(operator.name, []).append(operator)
    chosen: list[Operator] = []
    while len(chosen) < count and any(of_kinds.values()):
        for kind in of_kinds.values():
            if kind and len(chosen) < count:
                chosen.append(kind.pop(0))
    return chosen


def networks_of(series: Sequence[Series]) -> list[str]:
    """The networks that can be held out."""
    return sorted({name for each in series for name in each.networks})


def measure_product(
    series: Sequence[Series],
    networks: Sequence[str],
    settings: ProductSettings,
    *,
    known: Sequence[Row],
    watch: Callable[[str, Operator], Callable[[Progress], None]],
) -> Iterator[Row]:
    """The row of each operator that ``known`` rows lack; a network of whose operators none is of a
    work of its own has none.

    A row has the ``network``, the ``workload``, the ``limit`` of trials and the ``seed``; whether
    the model was kept ``apart`` from operators of the same work, which rows of old do not say; and
    shares of the best that was found: of what the model likes most (``untuned``), and of what a
    run of the first trials ends with, ``trials_5`` and so on. ``estimates_alone`` has the same
    shares of a run that has no model.
    Raises ``UsageError`` for an unknown network, ``KeyboardInterrupt`` if Ctrl-C ended a run.
    """
    there = [each for each in series if problem_of(each) is not None]
    for name in networks:
        if name not in networks_of(there):
            raise UsageError(f"no training set has a network '{name}'")
    done = {_identity(row) for row in known if ALONE in row and row.get("apart")}
    chosen = chosen_operators(there, settings.operators)
    for network in networks:
        wanted = [
            operator
            for operator in chosen[network]
            if (network, operator.label, settings.size) not in done
        ]
        model = held_out(there, network) if wanted else None
        for operator in wanted:
            assert model is not None
            yield _row(network, operator, model, settings, watch(network, operator))


def _row(
    network: str,
    operator: Operator,
    model: GlobalModel,
    settings: ProductSettings,
    progress: Callable[[Progress], None],
) -> Row:
    task = Task(operator, Target())
    alone = unlearned(model.sketches)
    with LocalMeasurers() as measurers:
        few = _run(task, alone, settings.at_most(AT[-1]), measurers, progress)
        run = _run(task, model, settings, measurers, progress)
        of_model = _compared(task, model, run, measurers)
        of_estimates = _compared(task, alone, few, measurers)
        found = [*of_model.values(), *of_estimates.values(), run.best.measurement.candidate]
        share = _shares(task, found, measurers)
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
        if result.stopped is Stop.INTERRUPTED:
            raise KeyboardInterrupt
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


def _shares(
    task: Task, candidates: Sequence[Candidate], measurers: LocalMeasurers
) -> dict[Candidate, float]:
    """The speeds of candidates as shares of that of the fastest of them; all are measured again in
    turn, as single trials are noisy."""
    measurer = measurers.measurer(joined(problems_of(task)).job(MeasureSettings()))
    try:
        measured = measurer.play_off(list(dict.fromkeys(candidates)), _ROUNDS)
    finally:
        measurer.close()
    least = min(it.seconds for it in measured)
    return {it.candidate: least / it.seconds for it in measured}
