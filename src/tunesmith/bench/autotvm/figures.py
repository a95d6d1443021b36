"""What the runs of an experiment come to: a row for each line, and pictures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from tunesmith.bench.autotvm.parts import Part
from tunesmith.bench.compare.charts import speed_trials_chart
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.runs import Results
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import WANTED_SHARE, Cell, Summary, mean, summarise
from tunesmith.bench.pages.charts import svg_texts
from tunesmith.bench.pages.provenance import origin_now

REFERENCES = ("random", "GA", "from nothing")
"""The lines that others are compared with, run by run of the same seed."""


def part_figures(
    part: Part, comparison: Comparison, results: Results, command: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures, which are JSON-ready, and the pictures by the names of their files.

    Figures have the ``settings``, ``runs`` done and planned, a row for each line, a ``cell`` for
    each line on each problem, ``crashes``, ``pictures``, and the ``origin``.
    """
    summary = summarise(results)
    name = f"models-{part.name}.svg"
    pictures = svg_texts({name: lambda: speed_trials_chart(summary)}) if results.traces else {}
    figures = {
        "part": part.name,
        "origin": origin_now(),
        "command": command,
        "settings": asdict(comparison.settings),
        "runs": {"done": len(results.traces), "planned": len(comparison.runs())},
        "problems": [problem.label for problem in summary.problems],
        "lines": lines(summary, comparison.settings.trials or part.trials),
        "cells": [cell.row() for cell in summary.cells if cell.traces],
        "crashes": summary.crashes,
        "pictures": list(pictures),
    }
    return figures, pictures


def lines(summary: Summary, limit: int) -> list[dict[str, Any]]:
    """A row for each line: the median ``trials_to_95`` over problems, of medians over runs, where a
    run that never comes so far counts as its ``limit``; the share of runs that ``reached`` it; the
    mean ``best`` share and its ``best_error``; ``thinking``, the share of the time, and
    ``thinking_ms`` a config; the ``ratios`` of trials to those of each reference, and what share of
    its trials a line needs to come as far as each (``catches_up``): medians over problems and
    seeds."""
    cells = {(cell.tuner.label, cell.problem.label): cell for cell in summary.cells if cell.traces}
    found = []
    for label in summary.labels:
        own = {problem: cell for (tuner, problem), cell in cells.items() if tuner == label}
        if not own:
            continue
        medians = [statistics.median(_all_to_95(cell, limit)) for cell in own.values()]
        shares = [float(cell.best.mean()) for cell in own.values()]
        errors = [float(cell.best.std() / np.sqrt(len(cell.best))) for cell in own.values()]
        times = [cell.time for cell in own.values()]
        found.append(
            {
                "line": label,
                "runs": sum(len(cell.traces) for cell in own.values()),
                "trials_to_95": statistics.median(medians),
                "reached": mean(cell.reached for cell in own.values()),
                "best": mean(shares),
                "best_error": float(np.sqrt(np.square(errors).sum())) / len(errors),
                "thinking": mean(each["search"] / sum(each.values()) for each in times),
                "thinking_ms": mean(cell.thinking_ms for cell in own.values()),
                "ratios": {
                    other: _ratio(own, _of(cells, other), limit)
                    for other in REFERENCES
                    if other != label and _of(cells, other)
                },
                "catches_up": {
                    other: _catches_up(own, _of(cells, other), limit)
                    for other in REFERENCES
                    if other != label and _of(cells, other)
                },
            }
        )
    return found


def _of(cells: Mapping[tuple[str, str], Cell], label: str) -> dict[str, Cell]:
    return {problem: cell for (tuner, problem), cell in cells.items() if tuner == label}


def _ratio(own: Mapping[str, Cell], others: Mapping[str, Cell], limit: int) -> float | None:
    """Of trials to 95 %, over all pairs of runs of the same problem and seed."""
    ratios = [
        first / second
        for problem, cell in own.items()
        if problem in others
        for first, second in zip(
            _all_to_95(cell, limit), _all_to_95(others[problem], limit), strict=False
        )
    ]
    return statistics.median(ratios) if ratios else None


def _catches_up(own: Mapping[str, Cell], others: Mapping[str, Cell], limit: int) -> float | None:
    """The trials to the speed that a run of the others ended with, as a share of its own to that:
    the median over pairs of runs of the same problem and seed."""
    shares = [
        _to(first, second.best[-1], limit) / _to(second, second.best[-1], limit)
        for problem, cell in own.items()
        if problem in others
        for first, second in zip(cell.traces, others[problem].traces, strict=False)
        if len(second.best)
    ]
    return statistics.median(shares) if shares else None


def _all_to_95(cell: Cell, limit: int) -> list[int]:
    """The trials of each run until ``WANTED_SHARE`` of the optimum."""
    return [_to(trace, cell.optimum / WANTED_SHARE, limit) for trace in cell.traces]


def _to(trace: Trace, seconds: float, limit: int) -> int:
    """The trials until a call takes so many seconds; the limit where that never is."""
    reached = np.flatnonzero(trace.best <= seconds)
    return math.ceil((int(reached[0]) + 1) / trace.multiplier) if len(reached) else limit
