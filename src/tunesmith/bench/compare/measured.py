"""One run of a comparison on a workload that is measured: ``ts.tune``, and its trace; and what it
may learn of other workloads beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tunesmith.bench.compare.problems import MeasuredProblem
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, system_reason
from tunesmith.measure.identity import digest
from tunesmith.operators import Operator
from tunesmith.problem import Problem
from tunesmith.progress import PHASES, Progress
from tunesmith.store import Store, open_store
from tunesmith.task import Task
from tunesmith.transfer.model import GlobalModel, learn, unlearned
from tunesmith.transfer.training_set import stored_set
from tunesmith.tuners import Tuner
from tunesmith.tuners import tuner as tuner_by_name
from tunesmith.tuning.result import check_finished
from tunesmith.tuning.tune import tune

TRIALS = 500
"""The trials of each run that others learn from."""

EARLIER = ("random", "autotvm", "autotvm", "autotvm")
"""The tuners of the runs that a model learns from, of each other workload: what a store has of a
workload that was searched at random, and then tuned a few times."""


class Taught(NamedTuple):
    """A model, and the versions of Tunesmith that measured what it learned from."""

    model: GlobalModel
    versions: Sequence[str] = ()


WatchOthers = Callable[[MeasuredProblem, float], None]
"""Is told of the workload that is tried, and of the share that is done."""


def measure_run(
    problem: Task | Problem,
    tuner: Tuner,
    budget: Budget,
    *,
    seed: int,
    store: str,
    watch: Callable[[float], None],
    model: GlobalModel | None = None,
    starts: bool = False,
) -> Trace:
    """Tune a task, with all its sketches, or another problem, from nothing: no earlier trials help,
    nor a model of other tasks but for the one that is given, nor, unless ``starts`` are asked for,
    configs to begin with.

    ``watch`` is told of the share of the budget that is used up. A trial ended when it was stored.
    Raises ``KeyboardInterrupt`` if Ctrl-C ended it, ``StoreError`` if the store failed.
    """

    def tell(progress: Progress) -> None:
        spent = [0.0]
        if budget.seconds is not None:
            spent.append(progress.elapsed / budget.seconds)
        if budget.trials is not None:
            spent.append(progress.trials / budget.trials)
        watch(min(1.0, max(spent)))

    with open_store(store) as opened:
        result = tune(
            problem,
            tuner,
            budget,
            store=opened,
            seed=seed,
            fresh=True,
            prior=starts,
            transfer=model or False,
            progress=tell,
        )
        check_finished(result)
        session = result.session
        assert session is not None
        records = list(opened.records(problem.key, session=session))
    ended = [(record.created - session.started).total_seconds() for record in records]
    return Trace.of(
        [record.measurement for record in records],
        np.maximum.accumulate(ended).tolist() if ended else [],
        {phase: result.time[phase] for phase in PHASES},
        result.stopped,
        best=None if result.best is None else result.best.seconds,
        candidate=None if result.best is None else result.best.measurement.candidate,
    )


def model_of(sources: Sequence[MeasuredProblem], store: str, watch: WatchOthers) -> Taught:
    """A model of workloads, of which what the store lacks of ``EARLIER`` runs is measured.

    It has learned from all that the store has of them, by their sketches and for their targets, and
    from nothing else. Raises ``UsageError`` where all trials failed, ``StoreError`` if the store
    failed, ``KeyboardInterrupt`` on Ctrl-C.
    """
    with open_store(store) as opened:
        for source in sources:
            for number, name in enumerate(EARLIER):
                _try(source, number, name, opened, watch)
        found = stored_set(opened)
        sessions = [it for source in sources for it in opened.sessions(source.tuned.key)]
    sought = {_searched(source.task, sketch) for source in sources for sketch in source.sketches}
    learned = [each for each in found.series if _searched(each.task, each.sketch) in sought]
    versions = sorted({session.versions["tunesmith"] for session in sessions})
    return Taught(learn(learned, least=TRIALS), versions)


def _searched(task: Task, sketch: str) -> tuple[Operator, str, str]:
    """What tells series of trials apart: a store names a target's options, a task may not."""
    return task.operator, sketch, digest(task.target.to_json())


def set_aside(store: Path) -> None:
    """Rename the files of a store, if there are any, so that nobody learns from it again.

    Raises ``TunesmithError`` where that is impossible.
    """
    now = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    try:
        for path in store.parent.glob(f"{store.name}*"):
            path.rename(path.with_name(f"before-{now}-{path.name}"))
    except OSError as error:
        raise TunesmithError(
            f"cannot rename {error.filename}: {system_reason(error)}: name another folder"
        ) from error


def estimates_alone(problem: MeasuredProblem) -> Taught:
    """A model that has learned nothing, for a workload: what its sketches estimate."""
    return Taught(unlearned(problem.sketches))


def _try(source: MeasuredProblem, number: int, name: str, store: Store, watch: WatchOthers) -> None:
    """Let a tuner try a workload from nothing, unless the store has this run and those before.

    What is left of a run that was interrupted has another seed, or it would try the same again.
    """
    tuned = source.tuned
    assert not isinstance(tuned, Task)
    there = sum(
        len(store.measurements(tuned.key, sketch=sketch, sketch_version=version))
        for sketch, version in source.sketches.items()
    )
    missing = min(TRIALS, TRIALS * (number + 1) - there)
    if missing <= 0:
        return
    seed = number if there == TRIALS * number else len(EARLIER) + there

    def tell(progress: Progress) -> None:
        watch(source, (number + progress.trials / missing) / len(EARLIER))

    result = tune(
        tuned,
        tuner_by_name(name),
        Budget(trials=missing),
        store=store,
        seed=seed,
        fresh=True,
        prior=False,
        transfer=False,
        progress=tell,
    )
    check_finished(result)
