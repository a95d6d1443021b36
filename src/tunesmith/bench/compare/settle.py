"""The best configs of all runs of a workload, measured together.

Each run has measured its own again at its end, but another run had another moment of a machine that
may be disturbed. So all of them are measured once more, in turn, and what runs found is told by
these times. Other load on the machine makes some take up to 1.5 times as long, and others not, for
seconds or a minute: where it seems so, all are measured again after a while, and where it lasts
with the next call.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measurement import Candidate
from tunesmith.problem import MeasureSettings
from tunesmith.task import Task
from tunesmith.tuning.play_off import verdicts

if TYPE_CHECKING:
    from tunesmith.bench.compare.runs import Run
    from tunesmith.problem import Measurer, Problem

_LOGGER = logging.getLogger("tunesmith")

ROUNDS = 15
"""How often each config is measured."""

MOST = 3
"""How often all are measured together at most."""

LONGEST_PAUSE = 30.0
"""Seconds that are waited at most before the next time, so that what disturbs may end. It is as
long as they have just taken, where that is less."""

# Something disturbs a config that takes so many times what its own trial took, where not all take
# longer. Trials of the best were lucky ones, by up to a seventh.
_DISTURBED = 1.2


def settled(tuned: Task | Problem, runs: Sequence[tuple[Run, Trace]]) -> dict[Run, Trace]:
    """The traces of runs of a task or problem, with what their best configs take when all of them
    are measured together. Traces that found nothing valid stay as they are. Those whose config had
    no time for want of time, which tells of the machine, are left out. Where something disturbs
    some configs, all are measured again; if something does each time, the least of each counts.
    """
    found = {run: trace.candidate for run, trace in runs if trace.candidate is not None}
    if len(found) < 2:
        return dict(runs)
    candidates = list(dict.fromkeys(found.values()))
    problem: Any = joined(problems_of(tuned)) if isinstance(tuned, Task) else tuned
    before = _of_trials(runs)
    measurer = problem.measurer(MeasureSettings())
    try:
        times = _least_disturbed(measurer, candidates, before)
    finally:
        measurer.close()
    if slower := _slower(times, before):
        _LOGGER.warning(
            "tunesmith: %d of %d best configs took over %g times what their trials had taken, each "
            "time that all were measured together: their times may be wrong, and the same command "
            "measures them again",
            slower,
            len(candidates),
            _DISTURBED,
        )
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


def disturbed(runs: Sequence[tuple[Run, Trace]]) -> bool:
    """Whether something disturbed the best configs of runs when they were measured together."""
    times = {trace.candidate: trace.found for _, trace in runs if trace.candidate is not None}
    return _slower(times, _of_trials(runs)) > 0


def _of_trials(runs: Sequence[tuple[Run, Trace]]) -> Mapping[Candidate, float]:
    """The seconds that the trials of the runs' best configs took, as far as they say it."""
    found: dict[Candidate, float] = {}
    for _, trace in runs:
        if trace.candidate is not None and trace.brief is not None:
            found[trace.candidate] = min(trace.brief, found.get(trace.candidate, math.inf))
    return found


def _least_disturbed(
    measurer: Measurer, candidates: Sequence[Candidate], before: Mapping[Candidate, float]
) -> Mapping[Candidate, float]:
    """The seconds of those with a verdict, infinite for what is wrong.

    They are measured together until none is clearly slower than ``before``: then these times count,
    which are of one moment. After ``MOST`` disturbed times the least of each does. What is wrong
    once is wrong.
    """
    least: dict[Candidate, float] = {}
    for number in range(1, MOST + 1):
        begun = perf_counter()
        measured = verdicts(measurer.play_off(candidates, ROUNDS))
        now = {it.candidate: it.seconds for it in measured}
        for candidate, seconds in now.items():
            both = (seconds, least.get(candidate, seconds))
            least[candidate] = math.inf if math.inf in both else min(both)
        if now.keys() == least.keys() and not _slower(now, before):
            return {it: math.inf if math.isinf(least[it]) else now[it] for it in now}
        if number < MOST:
            sleep(min(perf_counter() - begun, LONGEST_PAUSE))
    return least


def _slower(times: Mapping[Candidate, float], before: Mapping[Candidate, float]) -> int:
    """How many are ``_DISTURBED`` times as slow as before, beyond what slows down all alike."""
    ratios = [
        seconds / before[candidate]
        for candidate, seconds in times.items()
        if math.isfinite(seconds) and candidate in before
    ]
    drift = max(1.0, min(ratios, default=1.0))
    return sum(ratio > _DISTURBED * drift for ratio in ratios)
