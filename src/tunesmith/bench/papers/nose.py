"""``tunesmith bench nose``: experiment 2 of the NoSE paper (Gatopoulos et al.), on the CPU.

The eight test layers of ResNet-18 (table II; the four others chose its hyperparameters), NoSE
against AutoTVM's genetic algorithm and its cost model, four runs, by the wall clock (section V-D,
figures 5 to 8). Its layers are those of "Learning to Optimize Tensor Programs", too. The paper's
cost model has learned from other layers; ours begins with nothing, as all others do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.bench.compare.curves import time_limit
from tunesmith.bench.compare.report.bar_charts import (
    outcome_times_chart,
    outcomes_chart,
    time_split_chart,
)
from tunesmith.bench.compare.report.curve_charts import (
    speed_time_chart,
    speed_trials_chart,
    speed_up_chart,
)
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import Cell, Summary
from tunesmith.bench.compare.tuners import reference_of
from tunesmith.bench.operators.workloads import RESNET
from tunesmith.bench.pages.charts import Draw, svg_texts
from tunesmith.bench.papers import tables as parts
from tunesmith.bench.papers.data import of_begun
from tunesmith.bench.papers.estimate import Estimate, mean_over
from tunesmith.bench.papers.experiment import SearchExperiment, SearchSettings
from tunesmith.bench.papers.start import past_start
from tunesmith.operators import workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEST_LAYERS = tuple(f"resnet18.C{number}" for number in range(3, 11))

MOMENTS = {"a sixth": 1 / 6, "a quarter": 1 / 4, "a third": 1 / 3, "half": 1 / 2, "all": 1.0}
"""The shares of a run's time at which speed-ups are looked at, in words: the first is the paper's
first 10 of 60 minutes. They are set beforehand, for the largest speed-up at any time is chance."""

OURS, THEIRS, MODEL = "nose", "genetic", "autotvm"

# Its space is of the kind of the paper's template: tiles of all loops, and unrolling.
_FULL = SearchSettings(
    workloads=TEST_LAYERS,
    tuners=(OURS, THEIRS, MODEL),
    sketch="cpu_tiled",
    repeats=4,
    seconds=110.0,
)
# One layer, two tuners, so that both come far further than their first hundred random configs.
_QUICK = replace(_FULL, workloads=("resnet18.C5",), tuners=(OURS, THEIRS), repeats=4, seconds=70.0)


def _charts(summary: Summary, _settings: SearchSettings) -> dict[str, Draw]:
    summary = of_begun(summary)
    return {
        "time": lambda: speed_time_chart(summary),
        "trials": lambda: speed_trials_chart(summary),
        "speed-up": lambda: _speed_up_chart(summary),
        **_bars([cell.row() for cell in summary.cells], summary.labels),
    }


def _speed_up_chart(summary: Summary) -> Figure | None:
    """None where it would be over another tuner than the table is, or of random starts alone."""
    theirs = _labelled(summary.labels, THEIRS)
    if theirs is None or theirs != reference_of(summary.labels):
        return None
    told = any(each["points"] for each in _speed_ups(summary, theirs))
    return speed_up_chart(summary) if told else None


def _told(summary: Summary, _settings: SearchSettings) -> dict[str, Any]:
    """``ours`` and ``theirs``, the labels of NoSE and of the GA, null where they took no part; and
    ``speed_ups`` over the GA, for each other tuner that has runs of all problems that have any:
    ``since`` what share of the time every run of both is past its random start, null where one
    never is, and at which ``points``, shares of the time, it is how many ``times`` as fast, with
    the ``error``: the geometric mean over ``pairs`` of runs of one seed, on those ``workloads``, so
    many, of which every run of both is past its random start. ``over_model`` has the same of NoSE
    over the search by a cost model, whose label is in ``over``."""
    summary = of_begun(summary)
    ours, theirs, model = (_labelled(summary.labels, name) for name in (OURS, THEIRS, MODEL))
    over_model = [] if model is None else _speed_ups(summary, model)
    return {
        "ours": ours,
        "theirs": theirs,
        "speed_ups": [] if theirs is None else _speed_ups(summary, theirs),
        "over_model": [{**each, "over": model} for each in over_model if each["tuner"] == ours],
    }


def _labelled(labels: Sequence[str], name: str) -> str | None:
    """The first label of a tuner of that name, whatever its options."""
    return next((label for label in labels if label.partition(":")[0] == name), None)


def _speed_ups(summary: Summary, theirs: str) -> list[dict[str, Any]]:
    cells = {(each.tuner.label, each.problem): each for each in summary.cells}
    told = []
    for label in summary.labels:
        pairs = [(cells[label, each], cells[theirs, each]) for each in summary.problems]
        if label != theirs and all(cell.traces for pair in pairs for cell in pair):
            limits = [time_limit(summary.on(problem)) for problem in summary.problems]
            told.append({"tuner": label, **_speed_up(pairs, limits)})
    return told


def _speed_up(cells: Sequence[tuple[Cell, Cell]], limits: Sequence[float]) -> dict[str, Any]:
    """Of a tuner's cells and another's on the same problems, whose runs last so long."""
    lasting = list(zip(cells, limits, strict=True))
    begun = [_since(both, limit) for both, limit in lasting]
    points = []
    for share in MOMENTS.values():
        told = [
            [_log_times(ours, theirs, share * limit) for ours, theirs in first.beside(second)]
            for ((first, second), limit), since in zip(lasting, begun, strict=True)
            if since <= share
        ]
        told = [logs for logs in told if logs]
        if told:
            log = mean_over(map(Estimate.mean, told))
            times = math.exp(log.value)
            point = {"at": share, "times": times, "error": times * log.error}
            points.append({**point, "pairs": sum(map(len, told)), "workloads": len(told)})
    latest = max(begun, default=0.0)
    return {"since": latest if math.isfinite(latest) else None, "points": points}


def _since(cells: tuple[Cell, Cell], limit: float) -> float:
    """The share of the time at which every run is past its random start; infinite: one never is."""
    past = [
        past_start(trace, cell.tuner.tuner.random_start())
        for cell in cells
        for trace in cell.traces
    ]
    return max(math.inf if it is None else it / limit for it in past)


def _log_times(ours: Trace, theirs: Trace, seconds: float) -> float:
    """The logarithm of how many times as fast the best of a run is as the other's by then."""
    at = np.array([seconds])
    return math.log(theirs.best_at(at)[0] / ours.best_at(at)[0])


EXPERIMENT = SearchExperiment(
    name="nose",
    knows={name: workload(name) for name in RESNET},
    full=_FULL,
    quick=_QUICK,
    charts=_charts,
    told=_told,
)


def charts(data: Mapping[str, Any]) -> dict[str, str]:
    """The charts that need no more than the figures, by the names of their files."""
    return svg_texts(
        {
            f"search-nose-{name}.svg": draw
            for name, draw in _bars(data["rows"], data["tuners"]).items()
        }
    )


def _bars(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, Draw]:
    return {
        "time-split": lambda: time_split_chart(rows, labels),
        "outcomes": lambda: outcomes_chart(rows, labels),
        "outcome-times": lambda: outcome_times_chart(rows, labels),
    }


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    tuners = data["tuners"]
    shares = parts.shares(data, tuners)
    return parts.experiment_section(
        "papers/nose.md.jinja", data, tuners, moments=MOMENTS, shares=shares
    )
