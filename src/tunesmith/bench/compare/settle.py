"""The best configs of all runs of a workload, measured together.

Each run has measured its own again at its end, but another run had another moment of a machine that
may be disturbed. So all of them are measured once more, in turn, and what runs found is told by
these times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.problem import MeasureSettings
from tunesmith.store import open_store
from tunesmith.task import Task

if TYPE_CHECKING:
    from tunesmith.bench.compare.runs import Run
    from tunesmith.measurement import Candidate
    from tunesmith.problem import Problem
    from tunesmith.store import Store

ROUNDS = 15
"""How often each config is measured."""


def settled(
    tuned: Task | Problem, runs: Sequence[tuple[Run, Trace]], store: str
) -> dict[Run, Trace]:
    """The traces of runs of a task or problem, with what their best configs take when all of them
    are measured together.

    Those of runs that the store does not know stay as they are. Raises ``StoreError`` if the store
    cannot be read, ``KeyboardInterrupt`` on Ctrl-C.
    """
    problem: Any = joined(problems_of(tuned)) if isinstance(tuned, Task) else tuned
    with open_store(store) as opened:
        found = {
            run: best for run, trace in runs if (best := _best(opened, problem, trace)) is not None
        }
    candidates = list(dict.fromkeys(found.values()))
    if len(candidates) < 2:
        return dict(runs)
    measurer = problem.measurer(MeasureSettings())
    try:
        measured = measurer.play_off(candidates, ROUNDS)
    finally:
        measurer.close()
    times = {it.candidate: it.seconds for it in measured if it.valid}
    return {
        run: replace(trace, found=times.get(found[run], math.inf)) if run in found else trace
        for run, trace in runs
    }


def _best(store: Store, problem: Problem, trace: Trace) -> Candidate | None:
    """The best config of a run, by the times at its end; None where the store does not tell."""
    for session in store.sessions(problem.key):
        if session.uid == trace.session:
            for play_off in (True, False):
                records = store.records(problem.key, session=session, play_off=play_off)
                valid = [each.measurement for each in records if each.measurement.valid]
                if valid:
                    return min(valid, key=lambda it: it.seconds).candidate
    return None
