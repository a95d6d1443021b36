"""What the runs of a replayed claim come to: rows of lines and of pairs of lines, and pictures."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.problems import Problem, RecordedProblem
from tunesmith.bench.compare.report.bar_charts import score_chart
from tunesmith.bench.compare.report.curve_charts import speed_trials_chart
from tunesmith.bench.compare.runs import Results
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import Cell, Summary, mean, speeds, summarise
from tunesmith.bench.pages.charts import svg_texts
from tunesmith.bench.pages.provenance import together
from tunesmith.bench.papers.boxes import box_chart
from tunesmith.bench.papers.estimate import Estimate, mean_over
from tunesmith.bench.papers.replayed.parts import ReplayPart
from tunesmith.reports import format as fmt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Trials = int | None
"""After how many trials; None: at the end of a run."""


def replay_data(
    part: ReplayPart, comparison: Comparison, results: Results
) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures, which are JSON-ready, and the pictures by the names of their files.

    Figures have what did the runs; the ``settings``; the ``part``; ``runs``, how many are ``done``
    of those ``planned``; ``problems``; ``lines``, a row for each, with the trials that are its
    random ``start``; ``moments``, shares of a space or null for the end of a run, at which
    ``found`` has a row for each line on each problem; ``pairs`` of lines at each moment;
    ``crashes``; and the files of ``pictures`` by their short names.
    """
    summary = summarise(results)
    shares = _visited(part, summary.problems)
    moments: Sequence[float | None] = shares or (None,)
    charts = {
        "scores": lambda: _scores(summary) if part.scored else None,
        "trials": lambda: speed_trials_chart(summary),
        "boxes": lambda: _boxes(summary, shares) if shares else None,
    }
    drawn = svg_texts(charts) if results.traces else {}
    files = {name: f"search-replay-{part.name}-{name}.svg" for name in drawn}
    figures = {
        **together([results.origin()]),
        "settings": asdict(comparison.settings),
        "part": part.name,
        "runs": {"done": len(results.traces), "planned": len(comparison.runs())},
        "problems": [_problem(problem) for problem in summary.problems],
        "lines": [_line(summary, line.name) for line in part.lines],
        "moments": list(moments),
        "found": [
            _found(cell, share) for share in moments for cell in summary.cells if cell.traces
        ],
        "pairs": [
            row
            for share in moments
            for line in part.lines
            for other in line.beside
            if (row := _pair(summary, line.name, other, share))
        ],
        "crashes": summary.crashes,
        "pictures": files,
    }
    return figures, {files[name]: svg for name, svg in drawn.items()}


def _scores(summary: Summary) -> Figure | None:
    return score_chart(
        [cell.row() for cell in summary.cells], [each.row() for each in summary.standings]
    )


def _visited(part: ReplayPart, problems: Sequence[Problem]) -> list[float]:
    """The shares of the spaces that runs of so many trials come to."""

    def is_reached(share: float) -> bool:
        return all((_after(problem, share) or 0) <= part.trials for problem in problems)

    return [share for share in part.shares if is_reached(share)]


def _problem(problem: Problem) -> dict[str, Any]:
    assert isinstance(problem, RecordedProblem)
    recording = problem.recording
    return {
        "problem": problem.label,
        "configs": len(recording.seconds),
        "best_seconds": float(recording.seconds.min()),
    }


def _line(summary: Summary, name: str) -> dict[str, Any]:
    """Means over the problems of what a line's runs came to."""
    cells = [cell for cell in summary.cells if cell.tuner.label == name and cell.traces]
    standing = next(each for each in summary.standings if each.tuner.label == name)
    bests = [Estimate.mean(cell.best.tolist()) for cell in cells]
    best = mean_over(bests) if bests else None
    return {
        **standing.row(),
        "line": name,
        "start": cells[0].random_start if cells else 0,
        "runs": sum(len(cell.traces) for cell in cells),
        "best": best and best.value,
        "best_error": best and best.error,
        "trials": statistics.median(t.trials for c in cells for t in c.traces) if cells else None,
        "reached": mean(cell.reached for cell in cells),
    }


def _after(problem: Problem, share: float | None) -> Trials:
    """The trials at which a share of a space is visited."""
    if share is None:
        return None
    assert isinstance(problem, RecordedProblem)
    return max(1, math.ceil(share * len(problem.recording.seconds)))


def _seconds(trace: Trace, trials: Trials) -> float:
    """Seconds of a call of the best by then; infinite where there is none."""
    if trials is None:
        return float(trace.found)
    return float(trace.best_after(np.array([trials], np.intp))[0])


def _found(cell: Cell, share: float | None) -> dict[str, Any]:
    """What the runs of a cell had found by a moment, as shares of the best speed on record."""
    after = _after(cell.problem, share)
    found = np.array([_seconds(trace, after) for trace in cell.traces])
    shares = speeds(found, cell.optimum)
    mean_share = Estimate.mean(shares.tolist())
    low, median, high = np.percentile(shares, (25, 50, 75)).tolist()
    return {
        "line": cell.tuner.label,
        "problem": cell.problem.label,
        "at": share,
        "trials": after,
        "mean": mean_share.value,
        "error": mean_share.error,
        "least": float(shares.min()),
        "quartiles": [low, median, high],
        "most": float(shares.max()),
    }


def _pair(summary: Summary, name: str, other: str, share: float | None) -> dict[str, Any] | None:
    """How many ``times`` as fast the best of a line is as the other's by a moment: the geometric
    mean over pairs of runs of the same problem and seed, with its ``error``; and in how many of the
    ``pairs`` it is ``better``, and not ``worse``. None without a pair in which both found one."""
    logs = [
        math.log(theirs / ours)
        for ours, theirs in _paired(summary, name, other, share)
        if math.isfinite(ours) and math.isfinite(theirs)
    ]
    if not logs:
        return None
    log = Estimate.mean(logs)
    return {
        "line": name,
        "other": other,
        "at": share,
        "times": math.exp(log.value),
        "error": math.exp(log.value) * log.error,
        "pairs": len(logs),
        "better": sum(each > 0.0 for each in logs),
        "worse": sum(each < 0.0 for each in logs),
    }


def _paired(
    summary: Summary, name: str, other: str, share: float | None
) -> Iterator[tuple[float, float]]:
    """The seconds of the bests of two lines by a moment, of runs of the same problem and repeat."""
    cells = {(cell.tuner.label, cell.problem): cell for cell in summary.cells}
    for problem in summary.problems:
        after = _after(problem, share)
        for ours, theirs in cells[name, problem].beside(cells[other, problem]):
            yield _seconds(ours, after), _seconds(theirs, after)


def _boxes(summary: Summary, shares: Sequence[float]) -> Figure:
    """How the bests of all runs, of all spaces, are distributed at each share of the space."""
    panels: dict[str, dict[str, npt.NDArray[np.float64]]] = {}
    for share in shares:
        bests: defaultdict[str, list[float]] = defaultdict(list)
        for cell in summary.cells:
            after = _after(cell.problem, share)
            found = np.array([_seconds(trace, after) for trace in cell.traces])
            bests[cell.tuner.label].extend(speeds(found, cell.optimum))
        panels[f"{fmt.percent(share)} visited"] = {
            label: np.array(each) for label, each in bests.items() if each
        }
    return box_chart(panels, summary.labels)


def moment_words(share: float | None) -> str:
    """What a moment is called."""
    return "at the end" if share is None else f"at {fmt.percent(share)}"
