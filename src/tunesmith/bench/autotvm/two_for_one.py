"""What searches without a model find if they have two trials for one (figure 4).

Such a run is the same search by a clock that is half as fast. So runs tell without a measurement
what it finds in half of their trials.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tunesmith.bench.autotvm.lines import lines
from tunesmith.bench.compare.runs import Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import summarise

TWICE = {"GA": "GA × 2", "random": "random × 2"}
"""Lines, and what they are called if they have two trials for one."""


def two_for_one(results: Results, trials: int) -> list[dict[str, Any]]:
    """The rows of lines, as ``lines`` has them, after half of the ``trials`` that runs have; with
    two trials for one they had them all. Empty without runs of a line that has such a double."""
    beside = with_doubles(results, trials)
    if not any(tuner.multiplier > 1 for tuner in beside.tuners):
        return []
    half = trials // 2
    halves = {
        run: trace if run.tuner.multiplier > 1 else trace.first(half)
        for run, trace in beside.traces.items()
    }
    summary = summarise(Results(beside.problems, beside.tuners, halves))
    return lines(summary, half, references=tuple(TWICE.values()))


def with_doubles(results: Results, trials: int) -> Results:
    """The runs, of so many ``trials``, and those with two trials for one, of half as many."""
    traces: dict[Run, Trace] = {}
    for run, trace in results.traces.items():
        traces[run] = trace
        if trials > 1 and (twice := TWICE.get(run.tuner.label)):
            double = replace(run, tuner=replace(run.tuner, label=twice, multiplier=2))
            traces[double] = trace.first(trials // 2 * 2).slowed(2)
    tuners = list(dict.fromkeys(run.tuner for run in traces))
    return Results(results.problems, tuners, traces)
