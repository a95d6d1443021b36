"""The best configs of all runs of a workload, measured together.

Each run has measured its own again at its end, but another run had another moment of a machine that
may be disturbed. So all of them are measured once more, in turn, and what runs found is told by
these times.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.problem import MeasureSettings
from tunesmith.task import Task
from tunesmith.tuning.play_off import verdicts

if TYPE_CHECKING:
    from tunesmith.bench.compare.runs import Run
    from tunesmith.problem import Problem

_LOGGER = logging.getLogger("tunesmith")

ROUNDS = 15
"""How often each config is measured."""


def settled(tuned: Task | Problem, runs: Sequence[tuple[Run, Trace]]) -> dict[Run, Trace]:
    """The traces of runs of a task or problem, with what their best configs take when all of them
    are measured together. Traces that found nothing valid stay as they are. Those whose config had
    no time for want of time, which tells of the machine, are left out.
    """
    found = {run: trace.candidate for run, trace in runs if trace.candidate is not None}
    if len(found) < 2:
        return dict(runs)
    candidates = list(dict.fromkeys(found.values()))
    problem: Any = joined(problems_of(tuned)) if isinstance(tuned, Task) else tuned
    measurer = problem.measurer(MeasureSettings())
    try:
        measured = measurer.play_off(candidates, ROUNDS)
    finally:
        measurer.close()
    times = {it.candidate: it.seconds for it in verdicts(measured)}
    late = len(candidates) - len(times)
    if late:
        _LOGGER.warning(
            "tunesmith: %d of %d best configs ran out of time when all were measured together: "
            "until they have been measured again, what their runs measured counts",
            late,
            len(candidates),
        )
    return {
        run: replace(trace, found=times[found[run]]) if run in found else trace
        for run, trace in runs
        if run not in found or found[run] in times
    }
