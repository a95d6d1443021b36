"""Runs of experiments made by hand, as the data that parts of the page are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench.compare.runs import trace
from tunesmith.bench.compare.runs import Crash, Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.tuners import choose_tuners
from tunesmith.bench.papers.data import search_data
from tunesmith.bench.papers.experiment import SearchExperiment, SearchSettings

MS = 1e-3

ABSENT = {"autotvm": "boosted trees need XGBoost"}

Runs = Mapping[str, list[list[Trace]]]
"""The traces by tuner, a list of them for each workload."""


def run(*milliseconds: float, thinking: float = 0.5) -> Trace:
    """Trials of 3 s each."""
    return trace(*(time * MS for time in milliseconds), thinking=thinking)


def three(*milliseconds: float, thinking: float = 0.5) -> list[Trace]:
    """Runs that are all alike."""
    return [run(*milliseconds, thinking=thinking)] * 3


def data_of(
    experiment: SearchExperiment,
    settings: SearchSettings,
    runs: Runs,
    *,
    left_out: Mapping[str, str] | None = None,
    crashed: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Figures and pictures of such runs; ``crashed`` has a run of a tuner on the first workload
    fail. The figures have been through JSON."""
    tuners = choose_tuners(runs)
    comparison = experiment.comparison(settings, tuners, Path("unused"))
    results = Results(comparison.problems, tuners)
    for tuner in tuners:
        for problem, traces in zip(comparison.problems, runs[tuner.label], strict=True):
            for repeat, each in enumerate(traces):
                results.traces[Run(problem, tuner, repeat)] = each
        for name, why in (crashed or {}).items():
            if name == tuner.label:
                results.crashes.append(Crash(Run(comparison.problems[0], tuner, 9), why))
    figures, pictures = search_data(experiment, settings, comparison, results, left_out or {})
    return json.loads(json.dumps(figures)), pictures


def cells(line: str) -> list[str]:
    """Those of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def line_of(page: str, start: str) -> list[str]:
    """The cells of the first line of a table that begins so."""
    return cells(next(line for line in page.splitlines() if line.startswith(f"| {start} |")))


def prose(page: str) -> str:
    """The page with its lines joined."""
    return " ".join(page.split())


def fits(page: str) -> bool:
    """Whether the page's tables and text are narrow enough."""
    return all(len(line) <= 100 for line in page.splitlines())
