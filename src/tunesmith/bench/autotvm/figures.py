"""What the runs of an experiment come to: a row for each line, and pictures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.bench.autotvm.parts import Part
from tunesmith.bench.compare.charts import speed_trials_chart
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.measured import EARLIER, TRIALS
from tunesmith.bench.compare.recorded_task import TAUGHT
from tunesmith.bench.compare.runs import Results
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import (
    WANTED_SHARE,
    Cell,
    Summary,
    mean,
    speeds,
    standard_error,
    summarise,
)
from tunesmith.bench.pages.charts import svg_texts

Floats = npt.NDArray[np.float64]
Key = tuple[str, int]
Pair = tuple[Trace, Trace]

REFERENCES = ("random", "GA", "from nothing")
"""The lines that others are compared with, run by run of the same seed."""


def part_figures(
    part: Part, comparison: Comparison, results: Results, command: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures, which are JSON-ready, and the pictures by the names of their files.

    Figures have the ``settings``, ``runs`` done and planned, the ``machines`` that problems were
    measured on, a row for each line, a ``cell`` for each line on each problem, ``crashes``,
    ``pictures``, the ``origin``, and ``earlier``, the runs that those which transfer learn from.
    Features of programs are ``without_estimates`` of the sketch: figures of old do not say so.
    """
    summary = summarise(results)
    name = f"models-{part.name}.svg"
    pictures = svg_texts({name: lambda: speed_trials_chart(summary)}) if results.traces else {}
    figures = {
        "part": part.name,
        "origin": results.origin(),
        "command": command,
        "settings": asdict(comparison.settings),
        "runs": {"done": len(results.traces), "planned": len(comparison.runs())},
        "problems": [problem.label for problem in summary.problems],
        "machines": {each.label: results.machine(each) for each in summary.problems},
        "lines": lines(results, summary, comparison.settings.trials or part.trials),
        "cells": [cell.row() for cell in summary.cells if cell.traces],
        "crashes": summary.crashes,
        "pictures": list(pictures),
        "earlier": _earlier(part),
        "without_estimates": True,
    }
    return figures, pictures


def _earlier(part: Part) -> dict[str, Any]:
    """What those that transfer learn from, of each source: so many ``trials`` of a run by each of
    ``tuners``, or so many ``random`` configs of a recorded space; empty where nobody does."""
    if not part.sources:
        return {}
    return {"trials": TRIALS, "tuners": list(EARLIER)} if part.measured else {"random": TAUGHT}


def lines(results: Results, summary: Summary, limit: int) -> list[dict[str, Any]]:
    """A row for each line: the median ``trials_to_95`` over problems, of medians over runs, where a
    run that never comes so far counts as its ``limit``; the share of runs that ``reached`` it; the
    mean ``best`` share and its ``best_error``; ``thinking``, the share of the time, and
    ``thinking_ms`` a config; the ``ratios`` of trials to those of each reference; and the trials
    that a line needs to come as far as each, as a share of those that the other needed
    (``catches_up``) and of all that it had (``catches_up_of_all``): medians over pairs of runs of
    the same problem and repeat, of which ``never_catches_up`` has the share that did not within the
    limit. ``mean_catches_up`` are the trials after which the mean speed over runs is as high as the
    mean that each reference has in the end; None where it never is."""
    optima = {cell.problem.label: cell.optimum for cell in summary.cells}
    runs = {label: _runs(results, label) for label in summary.labels}
    of_lines = {
        label: [cell for cell in summary.cells if cell.traces and cell.tuner.label == label]
        for label in summary.labels
    }
    curves = {label: _mean_curves(own, limit) for label, own in of_lines.items()}
    found = []
    for label, own in of_lines.items():
        if not own:
            continue
        medians = [statistics.median(_all_to_95(cell, limit)) for cell in own]
        shares = [float(cell.best.mean()) for cell in own]
        errors = [float(standard_error(cell.best)) for cell in own]
        times = [cell.time for cell in own]
        pairs = {
            other: _pairs(runs[label], runs[other])
            for other in REFERENCES
            if other != label and runs.get(other)
        }
        shares_of = {other: _shares(each, limit) for other, each in pairs.items()}
        found.append(
            {
                "line": label,
                "runs": sum(len(cell.traces) for cell in own),
                "trials_to_95": statistics.median(medians),
                "reached": mean(cell.reached for cell in own),
                "best": mean(shares),
                "best_error": float(np.sqrt(np.square(errors).sum())) / len(errors),
                "thinking": mean(each["search"] / sum(each.values()) for each in times),
                "thinking_ms": mean(cell.thinking_ms for cell in own),
                "ratios": {other: _ratio(each, optima, limit) for other, each in pairs.items()},
                "catches_up": {name: _median(its.of_needed) for name, its in shares_of.items()},
                "catches_up_of_all": {name: _median(its.of_all) for name, its in shares_of.items()},
                "never_catches_up": {name: its.never for name, its in shares_of.items()},
                "mean_catches_up": {
                    name: _trials_to_end_of(curves[name], curves[label]) for name in pairs
                },
            }
        )
    return found


def _runs(results: Results, label: str) -> dict[Key, Trace]:
    """The traces of a line, by problem and repeat."""
    return {
        (run.problem.label, run.repeat): trace
        for run, trace in results.traces.items()
        if run.tuner.label == label
    }


def _pairs(own: Mapping[Key, Trace], others: Mapping[Key, Trace]) -> dict[Key, Pair]:
    """The runs of two lines on the same problem with the same seed."""
    return {key: (trace, others[key]) for key, trace in own.items() if key in others}


def _ratio(pairs: Mapping[Key, Pair], optima: Mapping[str, float], limit: int) -> float | None:
    """Of trials to 95 %."""
    return _median(
        [
            _to_95(first, optima[problem], limit) / _to_95(second, optima[problem], limit)
            for (problem, _), (first, second) in pairs.items()
        ]
    )


@dataclass(frozen=True)
class _Shares:
    """For each pair of runs the trials to the speed that the second one ended with, as a share of
    those that it needed itself, and of all that it had; ``never`` is the share of the pairs whose
    first run did not come so far, which counts as the limit."""

    of_needed: Sequence[float]
    of_all: Sequence[float]
    never: float | None


def _shares(pairs: Mapping[Key, Pair], limit: int) -> _Shares:
    valid = [each for each in pairs.values() if len(each[1].best) and math.isfinite(each[1].found)]
    of_needed, of_all, never = [], [], 0
    for first, second in valid:
        wanted = second.best[-1]
        needed = _to(first, wanted, limit)
        of_needed.append(needed / _to(second, wanted, limit))
        of_all.append(needed / limit)
        never += not (first.best <= wanted).any()
    return _Shares(of_needed, of_all, never / len(valid) if valid else None)


def _mean_curves(cells: Iterable[Cell], limit: int) -> dict[str, Floats]:
    """By problem the mean speed over runs after each number of trials, as a share of the optimum's,
    shape (limit,)."""
    trials = np.arange(1, limit + 1)
    return {
        cell.problem.label: speeds(
            np.array([trace.best_after(trials) for trace in cell.traces]), cell.optimum
        ).mean(axis=0)
        for cell in cells
    }


def _trials_to_end_of(reference: Mapping[str, Floats], own: Mapping[str, Floats]) -> int | None:
    """The trials after which one mean, over the problems of both, is as high as the reference's in
    the end; None where it never is, or the reference has found nothing."""
    both = sorted(own.keys() & reference.keys())
    if not both:
        return None
    mean_own, mean_of_reference = (
        np.mean([each[problem] for problem in both], axis=0) for each in (own, reference)
    )
    end = mean_of_reference[-1]
    reached = np.flatnonzero(mean_own >= end)
    return int(reached[0]) + 1 if len(reached) and end > 0.0 else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _all_to_95(cell: Cell, limit: int) -> list[int]:
    """The trials of each run until ``WANTED_SHARE`` of the optimum."""
    return [_to_95(trace, cell.optimum, limit) for trace in cell.traces]


def _to_95(trace: Trace, optimum: float, limit: int) -> int:
    return _to(trace, optimum / WANTED_SHARE, limit)


def _to(trace: Trace, seconds: float, limit: int) -> int:
    """The trials until a call takes so many seconds; the limit where that never is."""
    reached = np.flatnonzero(trace.best <= seconds)
    return math.ceil((int(reached[0]) + 1) / trace.multiplier) if len(reached) else limit
