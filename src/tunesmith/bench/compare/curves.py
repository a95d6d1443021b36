"""How fast the best is that tuners have found over time and over trials, as curves to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.problems import Problem, SyntheticProblem
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import Cell, Summary, speeds, standard_error
from tunesmith.bench.compare.tuners import reference_of

Floats = npt.NDArray[np.float64]

_POINTS = 240
_BOOTSTRAP_REPLICAS = 1000
_BOOTSTRAP_SEED = 20240521


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


def speeds_over_trials(summary: Summary, ends: Mapping[str, int] | None = None) -> list[Curves]:
    """The same over trials. A run that ended earlier than others keeps its best; but tuners by
    whose label ``ends`` has a number of trials are known so far alone."""
    plots = []
    for problem in summary.problems:
        cells = _with_traces(summary.on(problem))
        last = max((_typical_trials(cell) for cell in cells), default=1)
        trials = np.unique(np.geomspace(1, max(last, 2), _POINTS).astype(np.intp))
        drawn = {}
        for cell in cells:
            known = trials[trials <= (ends or {}).get(cell.tuner.label, last)]
            found = np.array([trace.best_after(known) for trace in cell.traces])
            drawn[cell.tuner.label] = _curve(known.astype(np.float64), speeds(found, cell.optimum))
        plots.append(Curves(problem.label, drawn))
    return plots


AFTER = (25, 50, 100, 250, 500, 1000)
"""Trials after which tuners are compared, as far as all runs had so many."""


def after_trials(summary: Summary) -> dict[str, Any]:
    """How long a call of the best takes after so many trials, relative to the reference's.

    A row for each tuner and each group of problems, of which synthetic spaces of a family are one,
    and first for all problems together: by the number of trials the geometric mean of the ratio,
    and its standard error, over the problems and the pairs of runs with the same seed. Runs that
    have found nothing by then, and problems on which a run crashed, are left out. JSON-ready.
    """
    reference = reference_of(summary.labels or [""])
    groups: dict[str, list[Problem]] = {}
    for problem in summary.problems:
        groups.setdefault(_group(problem), []).append(problem)
    if len(groups) > 1:
        groups = {"all problems": list(summary.problems), **groups}
    cells = {(cell.tuner.label, cell.problem): cell for cell in summary.cells}
    rows = []
    for name, problems in groups.items():
        for label in summary.labels:
            if label == reference:
                continue
            both = [(cells[label, it], cells[reference, it]) for it in problems]
            pairs = [
                pair
                for one, other in both
                if not one.crashes and not other.crashes
                for pair in one.beside(other)
            ]
            rows.append({"problems": name, "tuner": label, "after": _ratios(pairs)})
    return {"reference": reference, "rows": [row for row in rows if row["after"]]}


def _group(problem: Problem) -> str:
    """The family of a synthetic space; the label of any other problem."""
    label = problem.label
    return label.rpartition(".")[0] if isinstance(problem, SyntheticProblem) else label


def _ratios(pairs: Sequence[tuple[Trace, Trace]]) -> dict[str, list[float]]:
    """By the number of trials the geometric mean of the ratio of times, and its error."""
    shortest = min((trace.trials for pair in pairs for trace in pair), default=0)
    found = {}
    for trials in AFTER:
        count = np.array([trials])
        times = np.array([[it.best_after(count)[0] for it in pair] for pair in pairs])
        times = times[np.isfinite(times).all(axis=1)] if len(times) else times
        if trials <= shortest and len(times):
            logs = np.log(times[:, 0] / times[:, 1])
            mean = float(np.exp(logs.mean()))
            found[str(trials)] = [mean, mean * float(standard_error(logs))]
    return found


def speed_ups(summary: Summary) -> tuple[str, Curves] | None:
    """NoSE, figure 5B: at each time how many times as fast as the reference's best is theirs.

    Returns the reference's label, and the others' curves. Times are shares of a run's time, and a
    speed-up is the mean over the problems of the ratio of the mean speeds, its error the standard
    deviation over bootstrap replicas of the repeats of both. A curve begins when every run of both
    has found something on every problem: a mean in which a run without anything counts as 0 tells
    of that run's start, not of how fast the best is. A tuner that lacks runs of a problem, or whose
    curve would begin at the end, has none; None where nobody has any.
    """
    labels = [each.tuner.label for each in summary.standings if all(c.traces for c in each.cells)]
    reference = reference_of([label for label in summary.labels if label in labels] or [""])
    shares = np.linspace(0.0, 1.0, _POINTS)
    ratios: dict[str, list[Floats]] = {label: [] for label in labels if label != reference}
    rng = np.random.default_rng(_BOOTSTRAP_SEED)
    for problem in summary.problems:
        cells = {c.tuner.label: c for c in summary.on(problem) if c.tuner.label in labels}
        times = shares * time_limit(list(cells.values()))
        means = {label: _replicas(_speeds_at(cell, times), rng) for label, cell in cells.items()}
        for label, found in ratios.items():
            found.append(means[label] / means[reference])
    drawn = {}
    for label, found in ratios.items():
        means = np.mean(found, axis=0)
        told = np.isfinite(means).all(axis=0)
        if told.sum() > 1:
            # Rounded, so that replicas that are all the same deviate by nothing at all.
            error = means[1:, told].std(axis=0).round(12)
            drawn[label] = Curve(shares[told], means[0, told], error)
    return (reference, Curves("", drawn)) if drawn else None


def _replicas(found: Floats, rng: np.random.Generator) -> Floats:
    """The mean over repeats, and below it those of bootstrap replicas of them.

    ``found`` are speeds of shape (repeats, times), the means (1 + ``_BOOTSTRAP_REPLICAS``, times);
    NaN at times at which a repeat has not found anything yet.
    """
    means = bootstrap_weights(len(found), _BOOTSTRAP_REPLICAS, rng) @ found
    return np.where((found > 0).all(axis=0), means, np.nan)


def bootstrap_weights(count: int, replicas: int, rng: np.random.Generator) -> Floats:
    """What each of ``count`` repeats counts in the mean over them, and below in those of bootstrap
    replicas, shape (1 + replicas, count).

    A replica has one repeat less than there are: with as many, the deviation of few repeats would
    come out too small.
    """
    drawn = max(1, count - 1)
    even = np.full((1, count), 1 / count)
    return np.vstack([even, rng.multinomial(drawn, even[0], size=replicas) / drawn])


def time_limit(cells: Sequence[Cell]) -> float:
    """Seconds at which the last of all runs ended."""
    ends = [trace.ended[-1] for cell in cells for trace in cell.traces if trace.trials]
    return float(max(ends, default=1.0)) or 1.0


def _with_traces(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.traces]


def _typical_trials(cell: Cell) -> int:
    return int(np.median([trace.trials for trace in cell.traces]))


def _speeds_at(cell: Cell, times: Floats) -> Floats:
    """The speeds at these times, shape (repeats, times)."""
    return speeds(np.array([trace.best_at(times) for trace in cell.traces]), cell.optimum)


def _curve(x: Floats, values: Floats) -> Curve:
    return Curve(x, np.asarray(values.mean(axis=0)), standard_error(values))
