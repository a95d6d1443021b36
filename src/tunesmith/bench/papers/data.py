"""What the runs of an experiment come to, as data for its part of the page, and its pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.problems import Problem
from tunesmith.bench.compare.runs import Results
from tunesmith.bench.compare.summary import Cell, Summary, summarise
from tunesmith.bench.pages.charts import svg_texts
from tunesmith.bench.pages.provenance import together
from tunesmith.bench.papers.experiment import SearchExperiment, SearchSettings
from tunesmith.bench.papers.problem import SearchProblem


def search_data(
    experiment: SearchExperiment,
    settings: SearchSettings,
    comparison: Comparison,
    results: Results,
    left_out: Mapping[str, str],
) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures, which are JSON-ready, and the pictures by the names of their files.

    Figures have the ``settings``; ``runs``, how many are ``done`` of those ``planned``;
    ``problems``; ``tuners``; who was ``left_out``, and why; ``rows``, one for each tuner on each
    problem; ``crashes``; the files of ``pictures`` by their short names; and what only this
    experiment tells.
    """
    summary = summarise(results)
    drawn = svg_texts(experiment.charts(summary, settings))
    files = {name: f"search-{experiment.name}-{name}.svg" for name in drawn}
    figures = {
        **together([results.origin()]),
        "settings": asdict(settings),
        "runs": {"done": len(results.traces), "planned": len(comparison.runs())},
        "problems": [_problem(each, comparison, summary, results) for each in summary.problems],
        "tuners": summary.labels,
        "left_out": [{"tuner": name, "why": why} for name, why in left_out.items()],
        "rows": [_row(cell) for cell in summary.cells],
        "crashes": summary.crashes,
        "pictures": files,
        **experiment.told(summary, settings),
    }
    return figures, {files[name]: svg for name, svg in drawn.items()}


def of_tuners(summary: Summary, labels: Sequence[str]) -> Summary:
    """The part of a summary that is about these tuners; shares are of the same best."""
    return replace(
        summary,
        cells=[cell for cell in summary.cells if cell.tuner.label in labels],
        standings=[each for each in summary.standings if each.tuner.label in labels],
    )


def of_begun(summary: Summary) -> Summary:
    """The part of a summary that is about the problems of which there are runs; all without any."""
    there = {cell.problem for cell in summary.cells if cell.traces}
    if not there:
        return summary
    return replace(
        summary,
        problems=[problem for problem in summary.problems if problem in there],
        cells=[cell for cell in summary.cells if cell.problem in there],
        standings=[
            replace(each, cells=[cell for cell in each.cells if cell.problem in there])
            for each in summary.standings
        ],
    )


def _row(cell: Cell) -> dict[str, Any]:
    """As ``tunesmith compare`` has it, with the ``run_trials`` of each run."""
    return {**cell.row(), "run_trials": [trace.trials for trace in cell.traces]}


def _problem(
    problem: Problem, comparison: Comparison, summary: Summary, results: Results
) -> dict[str, Any]:
    assert isinstance(problem, SearchProblem)
    best = summary.on(problem)[0].optimum
    return {
        "problem": problem.label,
        "sketch": problem.tuned.describe()["sketch"],
        "size": problem.size,
        "trials": comparison.limits(problem)[1],
        "flops": problem.tuned.flops,
        "best_seconds": best if math.isfinite(best) else None,
        "machine": results.machine(problem),
    }
