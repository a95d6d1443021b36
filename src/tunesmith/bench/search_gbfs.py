"""``tunesmith bench gbfs``: the experiments of the paper on G-BFS and N-A2C, on the CPU.

Three products of square matrices, whose rows are split in four nested loops, the sum in two and the
columns in four: 484,000, 899,756 and 1,589,952 configs. What counts is the time of a call of the
best config when 0.1 % of the space was visited (figure 8a), and after a fixed time, over ten runs
(figure 8b, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tunesmith.bench import markdown
from tunesmith.bench import search_tables as parts
from tunesmith.bench.compare_figures import speed_time_figure, speed_trials_figure
from tunesmith.bench.compare_summary import Cell, Summary
from tunesmith.bench.operator_workloads import SQUARE
from tunesmith.bench.search_experiment import MODEL_TUNER, SearchExperiment, SearchSettings
from tunesmith.bench.search_problem import SearchProblem
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
_QUICK = replace(_FULL, workloads=("matmul.512",), repeats=2, seconds=25.0, moment=12.0)

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
    at the ``moment``; and how many runs ``reached`` the share before their time was up."""
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
            f"### {_visit(data)}",
            "",
            *_visited(data),
            *parts.pictures(data, ("trials",)),
            f"### After {fmt.duration(data['moment'])}",
            "",
            *_after(data),
            *parts.pictures(data, ("time",)),
        ]
    )


def _visit(data: Mapping[str, Any]) -> str:
    """When the share of the space is visited, in words."""
    settings = data["settings"]
    if settings["trials"] is not None:
        return f"After {fmt.counted(settings['trials'], 'trial')}"
    return f"At {100 * settings['space_share']:g} % of the space"


def _on(data: Mapping[str, Any], problem: str) -> dict[str, Mapping[str, Any]]:
    """What each tuner that has runs of a problem found there."""
    return {
        each["tuner"]: each
        for each in data["found"]
        if each["problem"] == problem and any(time is not None for time in each["visited"])
    }


def _visited(data: Mapping[str, Any]) -> list[str]:
    """The mean time of a call of the best, a column a problem (figure 8a)."""
    columns, short = {}, False
    for problem in data["problems"]:
        found, name = _on(data, problem["problem"]), problem["problem"]
        columns[f"{name}: {problem['trials']:,} trials"] = {
            tuner: _mean_time(found.get(tuner)) for tuner in data["tuners"]
        }
        short |= any(each["reached"] < len(each["visited"]) for each in found.values())
    text = "Time of a call of the best config, the mean over runs ± its standard error."
    if short:
        text += " * Some runs had visited less when their time was up."
    return [*parts.tables("tuner", data["tuners"], columns), *markdown.paragraph(text), ""]


def _mean_time(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return fmt.NOTHING
    times = _known(found["visited"])
    error = float(times.std(ddof=1)) / math.sqrt(len(times)) if len(times) > 1 else 0.0
    mark = " *" if found["reached"] < len(found["visited"]) else ""
    mean = float(times.mean())
    return f"{fmt.seconds(mean)} ± {100 * error / mean:.0f} %{mark}"


def _after(data: Mapping[str, Any]) -> list[str]:
    """How the bests of the runs are distributed at the moment, a table a problem (figure 8b)."""
    lines: list[str] = []
    for problem in data["problems"]:
        lines += [f"{problem['problem']}:", ""]
        lines += markdown.head(
            "tuner", "least", "quartile", "median", "mean", "quartile", "most", "std"
        )
        for tuner, found in _on(data, problem["problem"]).items():
            lines.append(markdown.row(tuner, *_box(_known(found["moment"]))))
        lines.append("")
    text = "Time of a call of the best config by then, over runs; **std** in percent of the mean."
    return [*lines, *markdown.paragraph(text), ""]


def _box(times: Any) -> list[str]:
    if not len(times):
        return [fmt.NOTHING] * 7
    least, low, median, high, most = np.percentile(times, (0, 25, 50, 75, 100)).tolist()
    shown = [fmt.seconds(t) for t in (least, low, median, float(times.mean()), high, most)]
    return [*shown, _spread(times)]


def _known(times: Sequence[float | None]) -> Any:
    return np.array([time for time in times if time is not None], np.float64)


def _spread(times: Any) -> str:
    """The standard deviation in percent of the mean."""
    if len(times) < 2:
        return fmt.NOTHING
    return fmt.percent(float(times.std(ddof=1) / times.mean()), 0)


def _ours(data: Mapping[str, Any]) -> str:
    """What became of the paper's claim, on the problem that it is about if that was run."""
    names = [problem["problem"] for problem in data["problems"] if _on(data, problem["problem"])]
    if not names:
        return "nothing has been found yet."
    name = _CITED if _CITED in names else names[-1]
    found = _on(data, name)
    told = [
        f"calls found by {ours} take {differences}"
        for ours in _OURS
        if ours in found and (differences := _differences(found, ours))
    ]
    short = any(each["reached"] < len(each["visited"]) for each in found.values())
    when = _visit(data).lower() + (" or when their time was up" if short else "")
    spreads = ", ".join(f"{tuner} {_spread(_known(it['moment']))}" for tuner, it in found.items())
    return (
        f"on {name}, {when}, {'; '.join(told) or 'there is nothing to compare'}. "
        f"After {fmt.duration(data['moment'])} the standard deviation over runs, in percent of the "
        f"mean, is: {spreads}."
    )


def _differences(found: Mapping[str, Mapping[str, Any]], ours: str) -> str:
    """By how much less time calls found by one of the paper's tuners take than the baselines'."""
    mean = _known(found[ours]["visited"]).mean()
    told = []
    for other in found:
        if other not in _OURS:
            less = 1 - mean / _known(found[other]["visited"]).mean()
            words = "less" if less >= 0 else "more"
            told.append(f"{abs(100 * less):.0f} % {words} than those of {other}")
    return ", ".join(told)
