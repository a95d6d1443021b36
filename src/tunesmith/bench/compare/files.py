"""The files of a comparison: data, a Markdown page, an HTML page and pictures."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tunesmith.bench.compare.compare import CompareSettings
from tunesmith.bench.compare.page import (
    DATA,
    HTML,
    PAGE,
    compare_html,
    compare_page,
    make_figures,
)
from tunesmith.bench.compare.problems import Problem, RecordedProblem
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.pages.figure_files import write_texts
from tunesmith.store import library_versions, this_machine


def write_comparison(
    folder: Path, summary: Summary, settings: CompareSettings, command: str = ""
) -> tuple[dict[str, Any], str]:
    """Write all files anew, each as a whole; returns the figures and the Markdown page.

    Raises ``TunesmithError`` where that is impossible.
    """
    about = {
        "machine": this_machine(),
        "versions": library_versions(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    data = {
        **about,
        "settings": asdict(settings),
        "problems": [_problem(problem) for problem in summary.problems],
        "tuners": [standing.row() for standing in summary.standings],
        "rows": [cell.row() for cell in summary.cells],
        "crashes": summary.crashes,
    }
    figures = make_figures(summary)
    page = compare_page(summary, settings, about, figures)
    texts = {figure.file: figure.picture for figure in figures}
    texts[PAGE] = page
    texts[HTML] = compare_html(summary, settings, about, figures, command)
    texts[DATA] = json.dumps(data, indent=1) + "\n"
    write_texts(folder, texts)
    return data, page


def _problem(problem: Problem) -> dict[str, Any]:
    if not isinstance(problem, RecordedProblem):
        return {"problem": problem.label, "kind": "measured"}
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
