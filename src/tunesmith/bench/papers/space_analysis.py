"""``tunesmith bench space-analysis``: what a space is like whose configs are recorded.

The first experiment of the NoSE paper (section V-C, figures 3 and 4): how many configs end in each
class and what these cost, and how fast the valid ones are. Besides that, how far a random search
gets, and what the best configs have in common. Speeds are shares of the best one's on record; that
of a config that failed is 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tunesmith.bench.recording.part import recorded_part
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measurement import Outcome

if TYPE_CHECKING:
    from tunesmith.bench.compare.problems import RecordedProblem
    from tunesmith.measure.recorded.recording import Recording
    from tunesmith.space import Config

CLOSE = (0.95, 0.9, 0.8, 0.5)
"""Shares of the best speed that configs are counted within."""

BINS = 20
"""Columns of the histogram of speeds."""

DRAWS = (1, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
"""Numbers of trials after which a random search is looked at."""

TOP = 5
"""As many of the best configs are shown."""

_BEST_SHARE, _FEWEST_BEST = 0.01, 10
_MOST_TELLING = 12

CHANCE = 0.05
"""The probability with which chance alone may put any value of a space among those that set the
best configs apart."""

Row = dict[str, Any]
Shares = npt.NDArray[np.float64]


def choose_recordings(texts: Sequence[str]) -> list[RecordedProblem]:
    """The recordings that texts name: T4 files, or patterns of them.

    Raises ``UsageError`` where there is none, for a workload, and for a file that cannot be used.
    """
    from tunesmith.bench.compare.problems import RecordedProblem, choose_problems

    found = []
    for problem in choose_problems(texts):
        if not isinstance(problem, RecordedProblem):
            raise UsageError(
                f"{problem.label} is no recording: name a T4 file, which 'tunesmith record' makes"
            )
        found.append(problem)
    return found


def analyse(problem: RecordedProblem) -> Row:
    """What there is to say of a recorded space, JSON-ready.

    ``within`` and ``to_share`` are lists of pairs: a share of the best speed, and how many configs
    have it, or how many trials a random search is expected to take to it. ``random`` has numbers
    of trials and the share that is expected of their best. ``histogram`` counts the valid configs
    in ``BINS`` equal ranges of the share. ``telling`` is of the ``best_count`` best configs.
    """
    recording = problem.recording
    shares = speed_shares(recording.seconds)
    valid = np.isfinite(recording.seconds)
    good = {close: int((shares >= close).sum()) for close in CLOSE}
    return {
        "name": problem.label,
        "task": recording.metadata.get("task"),
        "machine": recording.metadata.get("machine"),
        "flops": _flops(recording.metadata),
        **recorded_part(recording),
        "configs": len(shares),
        "size": recording.size,
        "seconds": float(recording.costs.sum()),
        "outcomes": outcomes(recording),
        "best_seconds": float(recording.seconds.min()),
        "median_seconds": float(np.median(recording.seconds[valid])),
        "within": [[close, count] for close, count in good.items()],
        "histogram": np.histogram(shares[valid], bins=BINS, range=(0.0, 1.0))[0].tolist(),
        "random": [[k, expected_best(shares, k)] for k in DRAWS if k <= len(shares)],
        "to_share": [[close, (len(shares) + 1) / (n + 1)] for close, n in good.items()],
        "best": best_configs(recording),
        "best_count": len(_best_rows(recording)),
        "telling": telling_values(recording),
    }


def outcomes(recording: Recording) -> dict[str, dict[str, float]]:
    """By class that occurs, its ``configs`` and the ``seconds`` that their trials took."""
    found = {}
    for outcome in Outcome:
        of_class = recording.outcomes == outcome.value
        if of_class.any():
            spent = float(recording.costs[of_class].sum())
            found[outcome.name] = {"configs": int(of_class.sum()), "seconds": spent}
    return found


def speed_shares(seconds: npt.NDArray[np.float64]) -> Shares:
    """The speed of each config as a share of the best one's, of the same shape."""
    return np.asarray(seconds.min() / seconds)


def expected_best(shares: Shares, draws: int) -> float:
    """The mean of the best of so many configs, all drawn without replacement and equally likely."""
    ranked, count = np.sort(shares)[::-1], len(shares)
    better = np.arange(count)
    # All draws miss the r best with the probability that is the product of the first r factors.
    factors = np.maximum(count - draws - better, 0) / (count - better)
    missed = np.cumprod(factors)
    taken = np.concatenate([[1.0], missed[:-1]]) - missed
    return float(taken @ ranked)


def best_configs(recording: Recording) -> list[Row]:
    """The fastest configs, each with its ``seconds`` and ``config``; what never varies is left
    out."""
    names = recording.space.names
    varying = [name for name in names if len({each[name] for each in recording.configs}) > 1]
    order = np.argsort(recording.seconds, kind="stable")[:TOP]
    return [
        {
            "seconds": float(recording.seconds[row]),
            "config": {name: recording.configs[row][name] for name in varying},
        }
        for row in order
        if math.isfinite(recording.seconds[row])
    ]


def telling_values(recording: Recording) -> list[Row]:
    """The values that set the best 1 % of the configs apart, the most telling first.

    For each choice it is the value whose share among the best is furthest above its share among
    all. It is left out where a random sample of that size has as many of it with a probability that
    is not below ``CHANCE``, divided by the number of all values (Bonferroni's correction). Parts of
    a tiling are choices of their own.
    """
    best, count = _best_rows(recording), len(recording.configs)
    among_all = _counts(recording.configs)
    among_best = _counts([recording.configs[row] for row in best])
    varying = {choice: counts for choice, counts in among_all.items() if len(counts) > 1}
    level = CHANCE / max(1, sum(map(len, varying.values())))
    rows: list[Row] = []
    for choice, counts in varying.items():
        shares = {
            value: (times / len(best), counts[value] / count)
            for value, times in among_best[choice].items()
        }
        value = max(shares, key=lambda each: shares[each][0] - shares[each][1])
        of_best, of_all = shares[value]
        if at_least(among_best[choice][value], len(best), of_all) < level:
            rows.append({"choice": choice, "value": value, "of_best": of_best, "of_all": of_all})
    rows.sort(key=lambda row: row["of_all"] - row["of_best"])
    return rows[:_MOST_TELLING]


def at_least(times: int, draws: int, share: float) -> float:
    """The probability that so many of some draws or more, with replacement, are of those that have
    this ``share`` (the upper tail of a binomial distribution)."""
    numbers = np.arange(times, draws + 1)
    if not len(numbers) or share >= 1.0:
        return float(len(numbers) > 0)
    log_factorials = np.array([math.lgamma(number + 1) for number in range(draws + 1)])
    chosen = log_factorials[draws] - log_factorials[numbers] - log_factorials[draws - numbers]
    logs = chosen + numbers * math.log(share) + (draws - numbers) * math.log1p(-share)
    return min(1.0, float(np.exp(logs).sum()))


def _best_rows(recording: Recording) -> npt.NDArray[np.intp]:
    """Where the best 1 % of the configs are, the fastest first, with all that are as fast as the
    last of these: which of them came first would tell of nothing but the order of the records."""
    order = np.argsort(recording.seconds, kind="stable")
    valid = int(np.isfinite(recording.seconds).sum())
    count = min(valid, max(_FEWEST_BEST, round(_BEST_SHARE * len(order))))
    slowest = recording.seconds[order[count - 1]]
    return order[: int((recording.seconds <= slowest).sum())]


def _counts(configs: Sequence[Config]) -> dict[str, Counter[str]]:
    """How often each value of each choice occurs."""
    counts: dict[str, Counter[str]] = {}
    for config in configs:
        for choice, value in _choices(config):
            counts.setdefault(choice, Counter())[value] += 1
    return counts


def _choices(config: Config) -> Iterator[tuple[str, str]]:
    from tunesmith.reports.format import config_value

    for name, value in config.items():
        if isinstance(value, tuple) and all(isinstance(part, int) for part in value):
            yield from ((f"{name}[{i}]", config_value(part)) for i, part in enumerate(value))
        else:
            yield name, config_value(value)


def _flops(metadata: Mapping[str, Any]) -> float | None:
    """Operations of a call, where the record says of which operator it is."""
    from tunesmith.operators import parse_operator

    operator: Any = metadata.get("operator")
    try:
        return float(parse_operator(operator["operator"], operator["options"]).flops)
    except (KeyError, TypeError, TunesmithError):  # another tool's record
        return None
