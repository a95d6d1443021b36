"""The mean speed over runs by their trials, and when one line's is as high as another's in the end,
as AutoTVM's paper draws it (figure 8)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.curves import bootstrap_weights
from tunesmith.bench.compare.problems import Problem
from tunesmith.bench.compare.summary import Cell, speeds
from tunesmith.bench.papers.estimate import Estimate, mean_over

Floats = npt.NDArray[np.float64]

# Of the bootstrap, and what two thirds of its samples lie between.
_SAMPLES = 500
_TWO_THIRDS = (1 / 6, 5 / 6)

# After so many trials it is told what was found.
_LOOKED_AT = (1, 5, 20, 50, 100)

# Sums of the same speeds in another order differ by less.
_ROUNDING = 1e-12


class Curves(NamedTuple):
    """Of the runs of these repeats the speeds after each number of trials, as shares of the
    optimum's, shape (runs, limit)."""

    repeats: tuple[int, ...]
    speeds: Floats


def curves_of(cells: Iterable[Cell], limit: int) -> dict[Problem, Curves]:
    """The curves of cells, each of another problem, by their problems."""
    trials = np.arange(1, limit + 1)
    return {
        cell.problem: Curves(
            tuple(cell.runs),
            speeds(np.array([trace.best_after(trials) for trace in cell.traces]), cell.optimum),
        )
        for cell in cells
    }


def found_after(curves: Iterable[Curves], limit: int) -> dict[str, dict[str, float]]:
    """The mean ``best`` share by the number of trials, and its ``error``."""
    known = list(curves)
    found = {}
    for trials in (it for it in _LOOKED_AT if it < limit):
        best = mean_over(Estimate.mean(it.speeds[:, trials - 1].tolist()) for it in known)
        found[str(trials)] = {"best": best.value, "error": best.error}
    return found


class CatchingUp(NamedTuple):
    """The ``trials`` after which the mean of one line is as high as that of another in the end, and
    what two thirds of bootstrap samples of the runs lie ``between``; None where it never is."""

    trials: int | None
    between: tuple[int | None, int | None]


def catching_up(own: Mapping[Problem, Curves], reference: Mapping[Problem, Curves]) -> CatchingUp:
    """Over the problems of both; never, where the reference has found nothing."""
    both = sorted(own.keys() & reference.keys(), key=lambda problem: problem.label)
    if not both:
        return CatchingUp(None, (None, None))
    rng = np.random.default_rng(0)
    drawn = [_replicas(own[problem], reference[problem], rng) for problem in both]
    first, second = (np.mean(each, axis=0) for each in zip(*drawn, strict=True))
    trials, *samples = _trials_to_end_of(first, second).tolist()
    low, high = np.quantile(samples, _TWO_THIRDS, method="nearest")
    return CatchingUp(_known(trials), (_known(low), _known(high)))


def _replicas(own: Curves, other: Curves, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The means over runs of both, and below them those of bootstrap samples, of shape (1 +
    ``_SAMPLES``, limit). The same runs of both are drawn where both have the same repeats, as those
    of one repeat have the same seed."""
    weights = bootstrap_weights(len(own.speeds), _SAMPLES, rng)
    others = weights
    if own.repeats != other.repeats:
        others = bootstrap_weights(len(other.speeds), _SAMPLES, rng)
    return weights @ own.speeds, others @ other.speeds


def _trials_to_end_of(own: Floats, reference: Floats) -> Floats:
    """The trials after which means, shape (samples, limit), are as high as others in the end, shape
    (samples,); infinite where they never are, or the others have found nothing."""
    end = reference[:, -1:]
    reached = (own >= end * (1.0 - _ROUNDING)) & (end > 0.0)
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, math.inf)


def _known(trials: float) -> int | None:
    return int(trials) if math.isfinite(trials) else None
