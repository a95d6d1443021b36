"""``tunesmith bench gbfs``: the experiments of the paper on G-BFS and N-A2C, on the CPU.

Three products of square matrices, whose rows are split in four nested loops, the sum in two and the
columns in four: 484,000, 899,756 and 1,589,952 configs. What counts is the time of a call of the
best config when 0.1 % of the space was visited (figure 8a), and after a fixed time, over ten runs
(figure 8b, section 4).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.bench.compare.report.curve_charts import speed_time_chart, speed_trials_chart
from tunesmith.bench.compare.summary import Cell, Summary, speeds
from tunesmith.bench.operators.workloads import SQUARE
from tunesmith.bench.pages.charts import Draw
from tunesmith.bench.pages.templates import table
from tunesmith.bench.papers import tables as parts
from tunesmith.bench.papers.boxes import Shares, box_chart
from tunesmith.bench.papers.estimate import Estimate
from tunesmith.bench.papers.experiment import SearchExperiment, SearchSettings
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.operators import workload
from tunesmith.reports import format as fmt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SKETCH = "cpu_gemm_424"
"""The sketch whose space is the paper's, d = (4, 2, 4)."""

_OURS = ("gbfs", "na2c")
"""The paper's tuners; the others are baselines, the controller and AutoTVM's tuner the paper's."""

# Seconds; the paper has 750.
_MOMENT = 60.0

_FULL = SearchSettings(
    workloads=SQUARE,
    tuners=(*_OURS, "controller", "autotvm", "random", "genetic"),
    sketch=SKETCH,
    repeats=10,
    seconds=300.0,
    space_share=0.001,
    moment=_MOMENT,
)
# The smallest product, whose 484 trials take about a minute, and a limit that lets runs have them.
_QUICK = replace(
    _FULL,
    workloads=("matmul.512",),
    tuners=(*_OURS, "random"),
    repeats=3,
    seconds=150.0,
    moment=30.0,
)

Found = Mapping[str, Any]


def _charts(summary: Summary, settings: SearchSettings) -> dict[str, Draw]:
    return {
        "trials": lambda: speed_trials_chart(summary),
        "time": lambda: speed_time_chart(summary),
        "boxes": lambda: _boxes(summary, _moment(settings)),
    }


def _moment(settings: SearchSettings) -> float:
    limits = [limit for limit in (settings.moment, settings.seconds) if limit is not None]
    return min(limits, default=_MOMENT)


def _boxes(summary: Summary, moment: float) -> Figure | None:
    """How the bests are distributed at the moment; None where no tuner had found any by then."""
    found = {each.label: _speeds_at(summary.on(each), moment) for each in summary.problems}
    panels = {name: shares for name, shares in found.items() if shares}
    return box_chart(panels, summary.labels) if panels else None


def _speeds_at(cells: Sequence[Cell], moment: float) -> Shares:
    """By tuner the best speed of each run that has any."""
    found = {}
    for cell in cells:
        times = np.array([trace.best_at(np.array([moment]))[0] for trace in cell.traces])
        if np.isfinite(times).any():
            found[cell.tuner.label] = speeds(times[np.isfinite(times)], cell.optimum)
    return found


def _told(summary: Summary, settings: SearchSettings) -> dict[str, Any]:
    """The ``moment`` in seconds, and ``found``: for each tuner on each problem the seconds of a
    call of each run's best, null where it has none, ``visited``: after the share of the space, and
    at the ``moment``; the ``trials`` of each run; and how many runs ``reached`` the share before
    their time was up."""
    moment = _moment(settings)
    found = [_found(cell, settings.trials, moment) for cell in summary.cells]
    return {"moment": moment, "found": found}


def _found(cell: Cell, trials: int | None, seconds: float) -> dict[str, Any]:
    assert isinstance(cell.problem, SearchProblem)
    wanted = trials or cell.problem.trials or 0
    after, moment = np.array([wanted], np.intp), np.array([seconds])
    return {
        "tuner": cell.tuner.label,
        "problem": cell.problem.label,
        "visited": [_seconds(trace.best_after(after)) for trace in cell.traces],
        "trials": [trace.trials for trace in cell.traces],
        "reached": sum(trace.trials >= wanted for trace in cell.traces),
        "moment": [_seconds(trace.best_at(moment)) for trace in cell.traces],
    }


def _seconds(times: Any) -> float | None:
    time = float(times[0])
    return time if math.isfinite(time) else None


EXPERIMENT = SearchExperiment(
    name="gbfs",
    knows={name: workload(name) for name in SQUARE},
    full=_FULL,
    quick=_QUICK,
    charts=_charts,
    told=_told,
)


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    names = [problem["problem"] for problem in data["problems"]]
    return parts.experiment_section(
        "papers/gbfs.md.jinja",
        data,
        data["tuners"],
        heading=_heading(data),
        visited=_visited(data),
        short=any(_short(each) for name in names for each in _on(data, name).values()),
        after={name: _after(data, name) for name in names},
    )


def _heading(data: Mapping[str, Any]) -> str:
    """When the share of the space is visited; or what the runs ended with, if none came there."""
    settings = data["settings"]
    if settings["trials"] is not None:
        when, what = "After", fmt.counted(settings["trials"], "trial")
    else:
        when, what = "At", f"{100 * settings['space_share']:g} % of the space"
    if any(each["reached"] for each in data["found"]):
        return f"{when} {what}"
    return f"At the end of the runs, none of which came to {what}"


def _on(data: Mapping[str, Any], problem: str) -> dict[str, Found]:
    """What each tuner that has runs of a problem found there."""
    return {
        each["tuner"]: each
        for each in data["found"]
        if each["problem"] == problem and any(time is not None for time in each["visited"])
    }


def _short(found: Found) -> bool:
    """Whether some run ended before the share was visited."""
    return bool(found["reached"] < len(found["visited"]))


def _visited(data: Mapping[str, Any]) -> str:
    """A table of the mean time of a call of the best, a column a problem (figure 8a)."""
    found = {problem["problem"]: _on(data, problem["problem"]) for problem in data["problems"]}
    head = ["tuner"]
    for problem in data["problems"]:
        name, trials = problem["problem"], f"{problem['trials']:,}"
        there = found[name].values()
        if there and not any(each["reached"] for each in there):
            trials = f"{parts.span(n for each in there for n in each['trials'])} of {trials}"
        head.append(f"{name}: {trials} trials")
    lines = [
        [tuner, *(_mean_time(each.get(tuner)) for each in found.values())]
        for tuner in data["tuners"]
    ]
    return table(head, lines)


def _mean_time(found: Found | None) -> str:
    if found is None:
        return fmt.NOTHING
    mean = Estimate.mean(_known(found["visited"]))
    mark = " *" if _short(found) else ""
    return f"{fmt.seconds(mean.value)} ± {100 * mean.error / mean.value:.1f} %{mark}"


def _after(data: Mapping[str, Any], problem: str) -> str:
    """A table of how the bests of the runs are distributed at the moment (figure 8b)."""
    head = ("tuner", "runs", "least", "quartile", "median", "mean", "quartile", "most", "std")
    found = _on(data, problem)
    return table(head, [[tuner, *_box(_known(each["moment"]))] for tuner, each in found.items()])


def _box(times: Sequence[float]) -> list[str]:
    if not times:
        return ["0", *[fmt.NOTHING] * 7]
    least, low, median, high, most = np.percentile(times, (0, 25, 50, 75, 100)).tolist()
    mean = statistics.fmean(times)
    shown = [fmt.seconds(time) for time in (least, low, median, mean, high, most)]
    spread = Estimate.deviation([time / mean for time in times])
    std = f"{100 * spread.value:.0f} ± {100 * spread.error:.0f} %"
    return [str(len(times)), *shown, std if spread.runs > 1 else fmt.NOTHING]


def _known(times: Sequence[float | None]) -> list[float]:
    return [time for time in times if time is not None]
