"""``tunesmith bench gbfs``: the experiments of the paper on G-BFS and N-A2C, on the CPU.

Three products of square matrices, whose rows are split in four nested loops, the sum in two and the
columns in four: 484,000, 899,756 and 1,589,952 configs. What counts is the time of a call of the
best config when 0.1 % of the space was visited (figure 8a), and after a fixed time, over ten runs
(figure 8b, section 4).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tunesmith.bench.compare.figures import speed_time_figure, speed_trials_figure
from tunesmith.bench.compare.summary import Cell, Summary
from tunesmith.bench.operators.workloads import SQUARE
from tunesmith.bench.pages import markdown
from tunesmith.bench.papers import tables as parts
from tunesmith.bench.papers.claims import NO_DIFFERENCE, Estimate, too_few
from tunesmith.bench.papers.experiment import MODEL_TUNER, SearchExperiment, SearchSettings
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.operators import workload
from tunesmith.reports import format as fmt

SKETCH = "cpu_gemm_424"
"""The sketch whose space is the paper's, d = (4, 2, 4)."""

_OURS = ("gbfs", "na2c")
"""The paper's tuners; the others are baselines, the controller and AutoTVM's tuner the paper's."""

# Seconds; the paper has 750.
_MOMENT = 60.0

_FULL = SearchSettings(
    workloads=SQUARE,
    tuners=(*_OURS, "controller", MODEL_TUNER, "random", "genetic"),
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

# The one that the paper gives figures of.
_CITED = "matmul.1024"
_PAPER = (
    "at 0.1 % of the space of 1024×1024×1024 calls found by G-BFS and N-A2C take 24 % less time "
    "than those of AutoTVM's XGBoost tuner and 40 % less than those of the RNN controller, and "
    "after 750 s theirs vary less over ten runs (section 4, figure 8, on a GPU)."
)


def _pictures(summary: Summary) -> dict[str, str]:
    return {"trials": speed_trials_figure(summary), "time": speed_time_figure(summary)}


def _told(summary: Summary, settings: SearchSettings) -> dict[str, Any]:
    """The ``moment`` in seconds, and ``found``: for each tuner on each problem the seconds of a
    call of each run's best, null where it has none, ``visited``: after the share of the space, and
    at the ``moment``; the ``trials`` of each run; and how many runs ``reached`` the share before
    their time was up."""
    limits = [limit for limit in (settings.moment, settings.seconds) if limit is not None]
    moment = min(limits, default=_MOMENT)
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
    pictures=_pictures,
    told=_told,
)


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    return "\n".join(
        [
            *parts.setup(data),
            *parts.claim(_PAPER, _ours(data)),
            *parts.standings(data, data["tuners"]),
            *parts.explained(parts.STANDINGS),
            *parts.remarks(data),
            f"### {_heading(data)}",
            "",
            *_visited(data),
            *parts.pictures(data, ("trials",), data["tuners"]),
            f"### After {fmt.duration(data['moment'])}",
            "",
            *_after(data),
            *parts.pictures(data, ("time",), data["tuners"]),
        ]
    )


def _visit(data: Mapping[str, Any]) -> str:
    """When the share of the space is visited, in words."""
    settings = data["settings"]
    if settings["trials"] is not None:
        return f"after {fmt.counted(settings['trials'], 'trial')}"
    return f"at {100 * settings['space_share']:g} % of the space"


def _heading(data: Mapping[str, Any]) -> str:
    visit = _visit(data)
    if any(each["reached"] for each in data["found"]):
        return f"{visit[0].upper()}{visit[1:]}"
    what = visit.partition(" ")[2]
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


def _visited(data: Mapping[str, Any]) -> list[str]:
    """The mean time of a call of the best, a column a problem (figure 8a)."""
    columns, short = {}, False
    for problem in data["problems"]:
        found, name = _on(data, problem["problem"]), problem["problem"]
        trials = f"{problem['trials']:,}"
        if found and not any(each["reached"] for each in found.values()):
            trials = (
                f"{parts.span(n for each in found.values() for n in each['trials'])} of {trials}"
            )
        columns[f"{name}: {trials} trials"] = {
            tuner: _mean_time(found.get(tuner)) for tuner in data["tuners"]
        }
        short |= any(map(_short, found.values()))
    text = "Time of a call of the best config, the mean over runs ± its standard error."
    if short:
        text += " * Some runs had visited less when their time was up."
    text += f" {parts.extent(data, data['tuners'])}"
    return [*parts.tables("tuner", data["tuners"], columns), *parts.explained(text.strip())]


def _mean_time(found: Found | None) -> str:
    if found is None:
        return fmt.NOTHING
    mean = Estimate.mean(_known(found["visited"]))
    mark = " *" if _short(found) else ""
    return f"{fmt.seconds(mean.value)} ± {100 * mean.error / mean.value:.1f} %{mark}"


def _after(data: Mapping[str, Any]) -> list[str]:
    """How the bests of the runs are distributed at the moment, a table a problem (figure 8b)."""
    lines: list[str] = []
    for problem in data["problems"]:
        lines += [f"{problem['problem']}:", ""]
        lines += markdown.head(
            *("tuner", "runs", "least", "quartile", "median", "mean", "quartile", "most", "std")
        )
        for tuner, found in _on(data, problem["problem"]).items():
            lines.append(markdown.row(tuner, *_box(_known(found["moment"]))))
        lines.append("")
    text = (
        "Time of a call of the best config by then, over the runs that had found any; **std** in "
        "percent of the mean ± its standard error."
    )
    return [*lines, *parts.explained(text)]


def _box(times: Sequence[float]) -> list[str]:
    if not times:
        return ["0", *[fmt.NOTHING] * 7]
    least, low, median, high, most = np.percentile(times, (0, 25, 50, 75, 100)).tolist()
    shown = [fmt.seconds(t) for t in (least, low, median, statistics.fmean(times), high, most)]
    spread = _spread(times)
    std = f"{100 * spread.value:.0f} ± {100 * spread.error:.0f} %"
    return [str(len(times)), *shown, std if spread.runs > 1 else fmt.NOTHING]


def _known(times: Sequence[float | None]) -> list[float]:
    return [time for time in times if time is not None]


def _spread(times: Sequence[float]) -> Estimate:
    """The standard deviation as a share of the mean."""
    mean = statistics.fmean(times)
    return Estimate.deviation([time / mean for time in times])


def _ours(data: Mapping[str, Any]) -> str:
    """What became of the paper's claim, on the problem that it is about if that was run."""
    names = [problem["problem"] for problem in data["problems"] if _on(data, problem["problem"])]
    if not names:
        return "nothing has been found yet."
    name = _CITED if _CITED in names else names[-1]
    found = _on(data, name)
    visited = _compared(
        {tuner: _known(each["visited"]) for tuner, each in found.items() if not _short(each)},
        Estimate.mean,
        _less_time,
        "in the time of calls",
    )
    if not visited:
        runs = sum(len(each["visited"]) for each in found.values())
        reached = sum(each["reached"] for each in found.values())
        what = _visit(data).partition(" ")[2]
        visited = f"too short to tell: {reached} of {runs} runs came to {what}"
        if reached == runs:
            visited = "there is nothing to compare"
    varied = _compared(
        {tuner: _known(each["moment"]) for tuner, each in found.items()},
        _spread,
        _less_varied,
        "in how much calls vary over runs",
    )
    text = f"on {name}, {_visit(data)}, {visited}."
    return f"{text} After {fmt.duration(data['moment'])}, {varied}." if varied else text


def _compared(
    times: Mapping[str, Sequence[float]],
    figure: Callable[[Sequence[float]], Estimate],
    words: Callable[[Estimate, Estimate], str],
    aspect: str,
) -> str:
    """How a figure of the paper's tuners differs from that of the others, where it does; nothing
    where either are missing."""
    known = {tuner: figure(each) for tuner, each in times.items() if each}
    ours = [tuner for tuner in known if tuner.partition(":")[0] in _OURS]
    others = [tuner for tuner in known if tuner not in ours]
    if not ours or not others:
        return ""
    few = too_few(min(known[tuner].runs for tuner in known))
    if few:
        return few
    told = []
    for one in ours:
        differ = [two for two in others if known[one].differs(known[two])]
        if differ:
            each = ", ".join(f"{words(known[one], known[two])} those of {two}" for two in differ)
            told.append(f"calls found by {one} {each}")
        same = [two for two in others if two not in differ]
        if same:
            told.append(f"{NO_DIFFERENCE} {aspect} between {one} and {', '.join(same)}")
    return "; ".join(told)


def _less_time(ours: Estimate, theirs: Estimate) -> str:
    ratio = ours.over(theirs)
    words = "less" if ratio.value < 1 else "more"
    return f"take {100 * abs(1 - ratio.value):.0f} ± {100 * ratio.error:.0f} % {words} time than"


def _less_varied(ours: Estimate, theirs: Estimate) -> str:
    return f"vary {'less' if ours.value < theirs.value else 'more'} over runs than"
