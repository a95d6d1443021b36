"""Runs made by hand, and what they come to, to test summaries and pages with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tunesmith.bench.compare.problems import MeasuredProblem, Problem
from tunesmith.bench.compare.runs import Crash, Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import Summary, summarise
from tunesmith.bench.compare.tuners import choose_tuners
from tunesmith.budget import Stop
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config

INF = math.inf
CONFIG = Config({"a": 1})


def trace(*seconds: float, thinking: float = 0.5, found: float | None = None) -> Trace:
    """Trials of 3 s each, of which a failed one takes 2; ``found`` is the best, measured again."""
    measurements = [
        Measurement(CONFIG, Outcome.NO_ERROR, (time,), 2.0, 1.0)
        if math.isfinite(time)
        else Measurement(CONFIG, Outcome.BUILD_TIMEOUT, (), 2.0, 0.0)
        for time in seconds
    ]
    ended = np.cumsum([3.0 if math.isfinite(time) else 2.0 for time in seconds]).tolist()
    built, ran = 2.0 * len(seconds), 1.0 * sum(map(math.isfinite, seconds))
    split = {"search": thinking, "build": built, "run": ran, "record": 1.5, "idle": 0.0}
    return Trace.of(measurements, ended, split, Stop.SECONDS, best=found)


def summary_of(
    problems: Sequence[Problem],
    runs: dict[str, list[list[Trace]]],
    crashes: Sequence[tuple[str, int, str]] = (),
) -> Summary:
    """The summary of the traces by tuner, a list of them for each problem."""
    tuners = choose_tuners(runs)
    results = Results(problems, tuners)
    for tuner in tuners:
        for problem, traces in zip(problems, runs[tuner.label], strict=True):
            for repeat, each in enumerate(traces):
                results.traces[Run(problem, tuner, repeat)] = each
        results.crashes += [
            Crash(Run(problems[place], tuner, 9), why)
            for label, place, why in crashes
            if label == tuner.label
        ]
    return summarise(results)


MEASURED = MeasuredProblem("matmul.512")


def two_tuners() -> Summary:
    """Two tuners on a workload, whose best is 1 ms."""
    return summary_of(
        [MEASURED],
        {
            "random": [[trace(4e-3, INF, 2e-3), trace(4e-3, 4e-3, 4e-3)]],
            "genetic": [[trace(2e-3, INF, INF, 1.04e-3, thinking=5.0), trace(2e-3, 1e-3)]],
        },
    )
