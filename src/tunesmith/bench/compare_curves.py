"""How fast the best is that tuners have found over time and over trials, as curves to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare_summary import Cell, Summary, speeds, standard_error
from tunesmith.bench.compare_tuners import reference_of

Floats = npt.NDArray[np.float64]

_POINTS = 240


@dataclass(frozen=True)
class Curve:
    """A mean over repeats with its standard error, both over ``x``; all of one shape."""

    x: Floats
    mean: Floats
    error: Floats


@dataclass(frozen=True)
class Curves:
    """The curves of one plot by the tuner's label."""

    title: str
    curves: Mapping[str, Curve]


def speeds_over_time(summary: Summary) -> list[Curves]:
    """For each problem the best speed, as a share of the optimum's, over seconds of tuning."""
    plots = []
    for problem in summary.problems:
        cells = _with_traces(summary.on(problem))
        times = np.linspace(0.0, time_limit(cells), _POINTS)
        drawn = {cell.tuner.label: _curve(times, _speeds_at(cell, times)) for cell in cells}
        plots.append(Curves(problem.label, drawn))
    return plots


def speeds_over_trials(summary: Summary) -> list[Curves]:
    """The same over trials. A run that ended earlier than others keeps its best."""
    plots = []
    for problem in summary.problems:
        cells = _with_traces(summary.on(problem))
        last = max((_typical_trials(cell) for cell in cells), default=1)
        trials = np.unique(np.geomspace(1, max(last, 2), _POINTS).astype(np.intp))
        drawn = {}
        for cell in cells:
            found = np.array([trace.best_after(trials) for trace in cell.traces])
            drawn[cell.tuner.label] = _curve(trials.astype(np.float64), speeds(found, cell.optimum))
        plots.append(Curves(problem.label, drawn))
    return plots


def speed_ups(summary: Summary) -> tuple[str, Curves] | None:
    """NoSE, figure 5B: at each time how many times as fast as the reference's best is theirs.

    Times are shares of a run's time. A repeat's speed-up is its mean over the problems, each over
    the reference's mean; nothing is told of times at which the reference has not found anything
    yet, nor of a tuner that lacks runs of a problem. Returns the reference's label too; None where
    nothing can be told.
    """
    labels = [each.tuner.label for each in summary.standings if all(c.traces for c in each.cells)]
    reference = reference_of([label for label in summary.labels if label in labels] or [""])
    if len(labels) < 2:
        return None
    shares = np.linspace(0.0, 1.0, _POINTS)
    ratios: dict[str, list[Floats]] = {label: [] for label in labels}
    for problem in summary.problems:
        cells = {c.tuner.label: c for c in summary.on(problem) if c.tuner.label in labels}
        times = shares * time_limit(list(cells.values()))
        base = _speeds_at(cells[reference], times).mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            for label, cell in cells.items():
                ratios[label].append(np.where(base > 0, _speeds_at(cell, times) / base, np.nan))
    means = {label: _mean_over_problems(found) for label, found in ratios.items()}
    told = np.isfinite(means[reference]).all(axis=0)
    if told.sum() < 2:
        return None
    drawn = {
        label: _curve(shares[told], mean[:, told])
        for label, mean in means.items()
        if label != reference
    }
    return reference, Curves("", drawn)


def time_limit(cells: Sequence[Cell]) -> float:
    """Seconds at which the last of all runs ended."""
    ends = [trace.ended[-1] for cell in cells for trace in cell.traces if trace.trials]
    return float(max(ends, default=1.0)) or 1.0


def _with_traces(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.traces]


def _mean_over_problems(found: Sequence[Floats]) -> Floats:
    """The mean of each repeat, as many as all problems have."""
    repeats = min(len(each) for each in found)
    return np.asarray(np.mean([each[:repeats] for each in found], axis=0))


def _typical_trials(cell: Cell) -> int:
    return int(np.median([trace.trials for trace in cell.traces]))


def _speeds_at(cell: Cell, times: Floats) -> Floats:
    """The speeds at these times, shape (repeats, times)."""
    return speeds(np.array([trace.best_at(times) for trace in cell.traces]), cell.optimum)


def _curve(x: Floats, values: Floats) -> Curve:
    return Curve(x, np.asarray(values.mean(axis=0)), standard_error(values))
