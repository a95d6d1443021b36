"""How good a search was, on a space whose every config is recorded.

The score of Willemsen et al., "A methodology for comparing optimization algorithms for auto-tuning"
(2024, doi 10.1016/j.future.2024.05.021), and one beside it whose baseline is aggregated like the
searches are. At each time the best so far is compared with that of random search: 0 is as good as
random, 1 is the optimum, less than 0 is worse than random.

Values are seconds of a call, infinite for a config that is invalid. A rank is the place of a value
among the valid ones, from the worst, 0, to the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError

Seconds = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int32]

FIRST_CUTOFF = 0.01
"""Where the times begin at which a search is judged: so much of the way from median to optimum."""
LAST_CUTOFF = 0.95
"""Where they end, which is also what a search has as its budget."""
TIMES = 1000
REPEATS = 25
"""As many runs of a search make a score that can be told from noise."""

# Searches behind the baseline of ``matched``, and the seed that they are drawn with.
_BASELINE_RUNS = 2000
_BASELINE_SEED = 20240521
_BOOTSTRAP_REPLICAS = 200


@dataclass(frozen=True)
class Baselines:
    """What the searches of one space are measured with.

    ``ranked`` holds the N valid values, from the worst to the best. ``times`` are the seconds of
    tuning at which a search is judged, shape (``TIMES``,); ``paper`` and ``matched`` are what
    random search has found by then, of the same shape. ``evaluations`` and ``budget`` are how many
    configs, and how many seconds, a search is given.
    """

    ranked: Seconds
    times: Seconds
    paper: Seconds
    matched: Seconds
    evaluations: int
    invalid_rate: float

    @property
    def optimum(self) -> float:
        """The least seconds of a call."""
        return float(self.ranked[-1])

    @property
    def budget(self) -> float:
        """Seconds of tuning."""
        return float(self.times[-1])

    @classmethod
    def of(cls, seconds: Seconds, costs: Seconds, times: Seconds | None = None) -> Baselines:
        """Those of a space with these values and seconds of tuning a config, both of shape (M,).

        ``times`` are others to judge at, of shape (``TIMES``,).
        Raises ``UsageError`` where fewer than two configs are valid or trials have no cost.
        """
        ranked = rank_values(seconds)
        if len(ranked) < 2:
            raise UsageError("fewer than two of its configs are valid: there is nothing to compare")
        mean = float(costs.mean())
        if not 0 < mean < math.inf or not (costs >= 0).all():
            raise UsageError("it does not say what its trials cost: searches have no clock then")
        # Of a space most of whose trials cost nothing the median would give no time at all.
        typical = float(np.median(costs)) or mean
        first, last = (cutoff_evaluations(ranked, p) for p in (FIRST_CUTOFF, LAST_CUTOFF))
        if times is None:
            times = np.linspace(first * typical, last * typical, TIMES)
        return cls(
            ranked,
            times,
            paper=ranked[random_ranks(len(ranked), np.maximum(1, np.rint(times / mean)))],
            matched=ranked[_simulated_ranks(ranked, seconds, costs, times)],
            evaluations=last,
            invalid_rate=1.0 - len(ranked) / len(seconds),
        )

    def ranks(self, ended: Seconds, seconds: Seconds) -> Ranks:
        """The rank of a run's best so far at each of the times, shape (``TIMES``,).

        The run's trials, in their order, ``ended`` after so many seconds of tuning and gave a call
        of so many ``seconds``. Before the first valid one the rank is 0; after the last the best
        stays what it is.
        """
        return _best_ranks(ranks_of(self.ranked, seconds), ended, self.times)

    def curve(self, ranks: Ranks) -> Seconds:
        """What the runs of a search have found at each time, in seconds of a call.

        ``ranks`` has shape (..., runs, ``TIMES``); the median over the runs is taken of the ranks,
        and turned back into a value.
        """
        return np.asarray(self.ranked[np.rint(np.median(ranks, axis=-2)).astype(np.intp)])


@dataclass(frozen=True)
class Score:
    """A mean over the times, and its standard deviation over bootstrap replicas of the runs."""

    mean: float
    std: float


@dataclass(frozen=True)
class Scores:
    """A search's score against the published baseline, and against the one aggregated alike."""

    paper: Score
    matched: Score


def score(baselines: Baselines, ranks: Ranks, *, seed: int = 0) -> Scores:
    """The scores of a search from its runs' ``ranks``, shape (runs, ``TIMES``).

    The deviations are those of ``_BOOTSTRAP_REPLICAS`` scores, each of as many runs drawn from
    these with replacement; 0 for a single run, which says nothing of others.
    """
    curve = baselines.curve(ranks)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(ranks), size=(_BOOTSTRAP_REPLICAS, len(ranks)))
    replicas = np.array([baselines.curve(ranks[runs]) for runs in drawn])
    figures = {}
    for name, baseline in (("paper", baselines.paper), ("matched", baselines.matched)):
        mean = float(performance(curve, baseline, baselines.optimum))
        spread = performance(replicas, baseline, baselines.optimum)
        # Rounded, so that replicas that are all the same deviate by nothing at all.
        figures[name] = Score(mean, round(float(np.std(spread)), 12))
    return Scores(**figures)


def mean_score(scores: Iterable[Score]) -> Score:
    """The mean over spaces, whose deviations are independent."""
    listed = list(scores)
    mean = sum(each.mean for each in listed) / len(listed)
    return Score(mean, math.sqrt(sum(each.std**2 for each in listed)) / len(listed))


def performance(curve: Seconds, baseline: Seconds, optimum: float) -> Seconds:
    """The mean over the times, the last axis, of (baseline - curve) / (baseline - optimum).

    Times at which the baseline has the optimum tell nothing and are left out; 0 where all do.
    """
    open_ = baseline > optimum
    if not open_.any():
        return np.zeros(curve.shape[:-1])
    gains = (baseline - curve)[..., open_] / (baseline - optimum)[open_]
    return np.asarray(gains.mean(axis=-1))


def rank_values(seconds: Seconds) -> Seconds:
    """The valid values from the worst to the best."""
    return np.sort(seconds[np.isfinite(seconds)])[::-1]


def ranks_of(ranked: Seconds, seconds: Seconds) -> Ranks:
    """The rank of each value, -1 for one that is invalid; equal values share the best rank."""
    better = np.searchsorted(ranked[::-1], seconds, side="left")
    return (len(ranked) - 1 - better).astype(np.int32)


def cutoff_evaluations(ranked: Seconds, cutoff: float) -> int:
    """How many configs random search takes to come this far from the median to the optimum.

    At least one. Section 3 of the paper, of which the mean rank after k draws without replacement
    is used the other way round.
    """
    count, optimum = len(ranked), ranked[-1]
    wanted = optimum + (1.0 - cutoff) * (np.median(ranked) - optimum)
    index = int(np.argmax(ranked <= wanted))
    if ranked[index] == optimum:
        index -= 1
    return max(1, math.ceil(index / (count + 1 - index)))


def random_ranks(count: int, evaluations: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """The rank that is expected of the best of so many of ``count`` values."""
    expected = np.rint(evaluations * (count + 1) / (evaluations + 1))
    return np.asarray(np.minimum(count - 1, expected).astype(np.intp))


def _best_ranks(ranks: Ranks, ended: Seconds, times: Seconds) -> Ranks:
    best = np.maximum.accumulate(np.concatenate([np.zeros(1, np.int32), ranks]))
    return np.asarray(best[np.searchsorted(ended, times, side="right")])


def _simulated_ranks(
    ranked: Seconds, seconds: Seconds, costs: Seconds, times: Seconds
) -> npt.NDArray[np.intp]:
    """The median rank at each time over many random searches, invalid configs and all.

    Their thinking takes no time.
    """
    rng = np.random.default_rng(_BASELINE_SEED)
    ranks = ranks_of(ranked, seconds)
    # Enough draws for the whole time, almost always; where not, the last best stays what it is.
    draws = min(len(costs), 16 + math.ceil(1.5 * times[-1] / costs.mean()))
    runs = np.empty((_BASELINE_RUNS, len(times)), np.int32)
    for run in runs:
        order = rng.permutation(len(costs))[:draws]
        run[:] = _best_ranks(ranks[order], np.cumsum(costs[order]), times)
    return np.asarray(np.rint(np.median(runs, axis=0)).astype(np.intp))
