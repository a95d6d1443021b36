"""One run of a comparison on a workload that is measured: ``ts.tune``, and its trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError
from tunesmith.problem import Problem
from tunesmith.progress import PHASES, Progress
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.tuners import Tuner
from tunesmith.tuning.tune import tune


def measure_run(
    problem: Task | Problem,
    tuner: Tuner,
    budget: Budget,
    *,
    seed: int,
    store: str,
    watch: Callable[[float], None],
) -> Trace:
    """Tune a task, with all its sketches, or another problem, from nothing: neither earlier
    trials nor good starts nor a model of other tasks help.

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
            prior=False,
            transfer=False,
            progress=tell,
        )
        if result.stopped is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        if result.failure:
            raise StoreError(result.failure)
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
    )
