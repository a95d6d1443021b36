"""How good a model is on tasks that it has not seen: by whole networks, or by chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.operators import Operator, ProductOperator
from tunesmith.task import Task
from tunesmith.transfer.training_set import Series, timed

Array = npt.NDArray[np.float64]

LOOKED_AT = (1, 5, 20)
"""Of how many of a task's favourites the best one counts."""

LEAST_TRIALS = 20
"""Tasks with fewer valid trials have no order to speak of."""


@dataclass(frozen=True)
class Score:
    """How the predictions for a task compare with its trials by a ``machine``.

    ``correlation`` is that of the ranks of valid trials (Spearman's). ``found`` has, for each of
    ``LOOKED_AT``, the speed of the best of so many favourites as a share of the task's best; and
    ``recall`` the share of the best so many that are among as many favourites. ``trials`` counts
    failed ones, too.
    """

    task: Task
    machine: str
    trials: int
    correlation: float
    found: Mapping[int, float]
    recall: Mapping[int, float]


def folds(series: Sequence[Series], count: int, seed: int = 0) -> list[tuple[list[int], list[int]]]:
    """Ways to hold out some tasks: the numbers of the series to learn from, and to test on.

    Networks are held out as a whole: what is learned from has no operator of theirs, and none of
    the same work (see ``work_of``). Each series is tested once. Tasks of no known network are, with
    those of the same work, like networks of their own.
    """
    groups = sorted({name for each in series for name in _groups(each)})
    order = np.random.default_rng(seed).permutation(len(groups))
    found = []
    done: set[int] = set()
    for first in range(min(count, len(groups))):
        out = {groups[place] for place in order[first::count]}
        held = [number for number, each in enumerate(series) if out & set(_groups(each))]
        learned = apart_from([series[number] for number in held], series)
        found.append((learned, [number for number in held if number not in done]))
        done.update(held)
    return found


def apart_from(held: Collection[Series], series: Sequence[Series]) -> list[int]:
    """The numbers of the series whose work none of those that are ``held`` out has."""
    works = {work_of(each.task.operator) for each in held}
    return [n for n, each in enumerate(series) if work_of(each.task.operator) not in works]


def work_of(operator: Operator) -> Operator:
    """An operator without what follows its products, and whether or not its weights are constant:
    what is fast for one operator of a work is fast for the others, so that a model that has seen
    one of them knows too much of them all."""
    if not isinstance(operator, ProductOperator):
        return operator
    return replace(
        operator, bias=False, relu=False, residual=False, post_ops="", constant_weights=False
    )


def _groups(series: Series) -> list[str]:
    return sorted(series.networks) or [work_of(series.task.operator).key]


def scores(series: Sequence[Series], log_speeds: Callable[[Series], Array]) -> list[Score]:
    """The score of each task that has enough valid trials by a machine. ``log_speeds`` predicts for
    a series numbers of any unit, shape (configs,), of which larger ones are faster."""
    compared: dict[tuple[Task, str], list[Series]] = {}
    for each in series:
        compared.setdefault(each.compared, []).append(each)
    found = []
    for (task, machine), those in compared.items():
        seconds = np.concatenate([each.seconds for each in those])
        if timed(seconds).sum() < LEAST_TRIALS:
            continue
        predicted = np.concatenate([log_speeds(each) for each in those])
        found.append(score(task, seconds, predicted, machine))
    return found


def summary(found: Sequence[Score]) -> dict[str, Any]:
    """Medians over tasks, JSON-ready: ``tasks``, ``correlation``, and by number of favourites what
    is ``found`` (also what nine in ten tasks reach, ``found_tenth``) and the mean ``recall``."""
    if not found:
        return {"tasks": 0}
    shares = {n: [each.found[n] for each in found] for n in LOOKED_AT}
    return {
        "tasks": len(found),
        "correlation": float(np.median([each.correlation for each in found])),
        "found": {str(n): float(np.median(each)) for n, each in shares.items()},
        "found_tenth": {str(n): float(np.quantile(each, 0.1)) for n, each in shares.items()},
        "recall": {str(n): float(np.mean([each.recall[n] for each in found])) for n in LOOKED_AT},
    }


def score(task: Task, seconds: Array, predicted: Array, machine: str = "") -> Score:
    """The score of one task's trials; what is no time of a call, such as NaN, is a failure.

    Among favourites that are liked the same, chance decides: the order of the trials, which get
    faster in a run of a tuner, does not.
    """
    valid = timed(seconds)
    speeds = np.where(valid, 1.0 / np.where(valid, seconds, 1.0), 0.0)
    fastest = float(speeds.max(initial=0.0)) or 1.0
    order = np.random.default_rng(0).permutation(len(predicted))
    favourites = order[np.argsort(-predicted[order], kind="stable")]
    best = np.argsort(-speeds, kind="stable")
    return Score(
        task,
        machine,
        len(seconds),
        _rank_correlation(speeds[valid], predicted[valid]),
        {n: float(speeds[favourites[:n]].max(initial=0.0) / fastest) for n in LOOKED_AT},
        {
            n: len(set(favourites[:n]) & set(best[:n])) / max(1, min(n, len(seconds)))
            for n in LOOKED_AT
        },
    )


def _rank_correlation(speeds: Array, predicted: Array) -> float:
    """Spearman's; 0 where all speeds, or all predictions, are the same."""
    ranks = [_ranks(each) for each in (speeds, predicted)]
    if len(speeds) < 2 or not all(np.ptp(each) > 0.0 for each in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Array) -> Array:
    """Ranks from 1; equal values share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = (last - (counts - 1) / 2.0)[places]
    return ranks
