"""The files of a comparison: data, a Markdown page, an HTML page and charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tunesmith.bench.compare.curves import after_trials
from tunesmith.bench.compare.problems import MeasuredProblem, Problem, SyntheticProblem
from tunesmith.bench.compare.report.bar_charts import bar_charts
from tunesmith.bench.compare.report.curve_charts import curve_charts
from tunesmith.bench.compare.report.page import CHARTS, compare_html, compare_page
from tunesmith.bench.compare.runs import CompareSettings
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.pages.charts import svg_texts
from tunesmith.bench.pages.figure_files import write_figures, write_texts
from tunesmith.bench.pages.provenance import Origin, origin_now, together

NAME = "compare"


def write_comparison(
    folder: Path,
    summary: Summary,
    settings: CompareSettings,
    command: str = "",
    origin: Origin | None = None,
) -> tuple[dict[str, Any], str]:
    """Write all files anew, each as a whole; returns the figures and the Markdown page. ``origin``
    is that of the runs, by default of now.

    Raises ``TunesmithError`` where that is impossible.
    """
    data = compare_data(summary, settings, origin)
    write_figures(folder, NAME, data)
    drawn = svg_texts({**bar_charts(data), **curve_charts(summary)})
    charts = {name: drawn[name] for name in CHARTS if name in drawn}
    page = compare_page(data, list(charts))
    html = compare_html(data, charts, command)
    write_texts(folder, {**charts, f"{NAME}.html": html, f"{NAME}.md": page})
    return data, page


def compare_data(
    summary: Summary, settings: CompareSettings, origin: Origin | None = None
) -> dict[str, Any]:
    """What the JSON file holds."""
    return {
        **together([origin_now() if origin is None else origin]),
        "settings": asdict(settings),
        "problems": [_problem(problem) for problem in summary.problems],
        "tuners": [standing.row() for standing in summary.standings],
        "rows": [cell.row() for cell in summary.cells],
        "after_trials": after_trials(summary),
        "crashes": summary.crashes,
    }


def write_comparison_page(folder: Path, data: Mapping[str, Any]) -> None:
    """Write what needs no more than the figures in the JSON file: the Markdown page, and the charts
    of bars. Those of curves need the runs, and stay as they are."""
    bars = svg_texts(bar_charts(data))
    charts = [name for name in CHARTS if name in bars or (folder / name).is_file()]
    has_html = (folder / f"{NAME}.html").is_file()
    page = compare_page(data, charts, has_html=has_html)
    write_texts(folder, {**bars, f"{NAME}.md": page})


def _problem(problem: Problem) -> dict[str, Any]:
    if isinstance(problem, SyntheticProblem):
        return {"problem": problem.label, "kind": "synthetic"}
    if isinstance(problem, MeasuredProblem):
        return {
            "problem": problem.label,
            "kind": "measured",
            "flops": float(problem.task.operator.flops),
        }
    scale = problem.baselines
    return {
        "problem": problem.label,
        "kind": "recorded",
        "configs": len(problem.recording.configs),
        "invalid_rate": scale.invalid_rate,
        "optimum_seconds": scale.optimum,
        "budget_seconds": scale.budget,
        "budget_evaluations": scale.evaluations,
    }
