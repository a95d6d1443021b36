"""``tunesmith bench nose``: experiment 2 of the NoSE paper (Gatopoulos et al.), on the CPU.

The eight test layers of ResNet-18 (table II; the four others chose its hyperparameters), NoSE
against AutoTVM's genetic algorithm and simulated annealing, four runs, by the wall clock (section
V-D, figures 5 to 8). Its layers are those of "Learning to Optimize Tensor Programs", too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tunesmith.bench import search_tables as parts
from tunesmith.bench.compare_bars import outcome_times_figure, outcomes_figure, time_split_figure
from tunesmith.bench.compare_curves import speed_ups, time_limit
from tunesmith.bench.compare_figures import speed_time_figure, speed_trials_figure, speed_up_figure
from tunesmith.bench.compare_summary import Cell, Summary, mean, speeds
from tunesmith.bench.operator_workloads import RESNET
from tunesmith.bench.search_experiment import MODEL_TUNER, SearchExperiment, SearchSettings
from tunesmith.operators import workload
from tunesmith.reports import format as fmt

TEST_LAYERS = tuple(f"resnet18.C{number}" for number in range(3, 11))

EARLY = 1 / 6
"""The paper's first 10 of 60 minutes, as a share of a run's time."""

# Its space is of the kind of the paper's template: tiles of all loops, and unrolling.
_FULL = SearchSettings(
    workloads=TEST_LAYERS,
    tuners=("nose", "genetic", "annealing", MODEL_TUNER),
    sketch="cpu_tiled",
    repeats=4,
    seconds=120.0,
)
# One layer, so that NoSE and the GA come further than their first hundred random configs.
_QUICK = replace(_FULL, workloads=("resnet18.C5",), repeats=2, seconds=40.0)

_PAPER = (
    "in the mean over the layers NoSE's best is up to 1.4 times as fast as the GA's within the "
    "first 10 of 60 minutes, and about as fast at the end; NoSE thinks no longer than the GA "
    "(section V-D, figures 5 and 6, on a GPU)."
)


def _pictures(summary: Summary) -> dict[str, str]:
    return {
        "time": speed_time_figure(summary),
        "trials": speed_trials_figure(summary),
        "speed-up": speed_up_figure(summary) or "",
        "time-split": time_split_figure(summary),
        "outcomes": outcomes_figure(summary),
        "outcome-times": outcome_times_figure(summary),
    }


def _told(summary: Summary, _settings: SearchSettings) -> dict[str, Any]:
    """``early``: by tuner the best after the first sixth of the time, as ``best`` is at the end;
    ``speed_up``: over whom, and by tuner how many times as fast its best is: ``most`` and ``at``
    what share of the time, ``early`` and at the ``end``, each with its ``error``; null where that
    cannot be told."""
    early = {
        label: mean(
            _share_at(cell, EARLY * time_limit(summary.on(cell.problem)))
            for cell in summary.cells
            if cell.tuner.label == label and cell.traces
        )
        for label in summary.labels
    }
    return {"early": early, "speed_up": _speed_up(summary)}


def _share_at(cell: Cell, seconds: float) -> float:
    """The best after so many seconds as a share of the best known, the mean over runs."""
    found = np.array([trace.best_at(np.array([seconds]))[0] for trace in cell.traces])
    return float(speeds(found, cell.optimum).mean())


def _speed_up(summary: Summary) -> dict[str, Any] | None:
    told = speed_ups(summary)
    if told is None:
        return None
    reference, plot = told
    tuners = {}
    for label, curve in plot.curves.items():
        points = {
            "most": int(np.argmax(curve.mean)),
            "early": int(np.abs(curve.x - EARLY).argmin()),
            "end": len(curve.x) - 1,
        }
        tuners[label] = {
            name: {
                "times": float(curve.mean[point]),
                "error": float(curve.error[point]),
                "at": float(curve.x[point]),
            }
            for name, point in points.items()
        }
    return {"reference": reference, "tuners": tuners}


EXPERIMENT = SearchExperiment(
    name="nose",
    knows={name: workload(name) for name in RESNET},
    full=_FULL,
    quick=_QUICK,
    pictures=_pictures,
    told=_told,
)


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    reference = (data["speed_up"] or {"reference": "the first"})["reference"]
    columns = {
        "early": lambda tuner: fmt.percent(data["early"][tuner]),
        f"most × {reference}": lambda tuner: _times(data, tuner),
    }
    about = (
        f"{parts.STANDINGS} **early** is the best after a sixth of the time, **most × "
        f"{reference}** how many times as fast as {reference}'s a tuner's best is at most, at any "
        "time."
    )
    return "\n".join(
        [
            *parts.setup(data),
            *parts.claim(_PAPER, _ours(data)),
            *parts.standings(data, data["tuners"], columns),
            *parts.explained(about),
            *parts.remarks(data),
            *parts.pictures(data, ("time", "speed-up")),
            *parts.shares(data, data["tuners"]),
            *parts.pictures(data, ("trials", "time-split", "outcomes", "outcome-times")),
        ]
    )


def _times(data: Mapping[str, Any], tuner: str) -> str:
    told = (data["speed_up"] or {"tuners": {}})["tuners"].get(tuner)
    return fmt.NOTHING if told is None else f"{told['most']['times']:.2f}"


def _ours(data: Mapping[str, Any]) -> str:
    """What became of the paper's claim."""
    speed_up = data["speed_up"]
    if speed_up is None or speed_up["reference"] != "genetic" or "nose" not in speed_up["tuners"]:
        return "nose and genetic have not both been run on all of these workloads."
    points = speed_up["tuners"]["nose"]
    most, early, end = (
        f"{points[name]['times']:.2f} ± {points[name]['error']:.2f}"
        for name in ("most", "early", "end")
    )
    return (
        f"NoSE's best is {most} times as fast as the GA's at most, which is after "
        f"{fmt.percent(points['most']['at'], 0)} of the time, {early} times after a sixth of it, "
        f"and {end} times at the end. NoSE thinks for {_thinking(data, 'nose')} of its time, the "
        f"GA for {_thinking(data, 'genetic')}."
    )


def _thinking(data: Mapping[str, Any], tuner: str) -> str:
    """The share of a tuner's time that is thinking, the mean over workloads."""
    times = [row["time"] for row in parts.rows_of(data, tuner).values()]
    found = mean(time["search"] / sum(time.values()) for time in times if any(time.values()))
    return fmt.percent(found)
