"""A model of the trials of many tasks: what is fast on this machine, whatever the task.

It is the global model of "Learning to Optimize Tensor Programs", section 4. It corrects the
estimates of sketches, which have the sizes of a task and of the machine right, by what was measured
of other tasks. Sketches without estimates are learned from their configs alone.

Only the order of a task's configs is learned: the speeds of different tasks do not compare. So
what trees learn is how much faster a config is than estimated, beside the mean of its task.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.models.boosted_trees import BoostedTrees, Growth
from tunesmith.models.groups import members_of
from tunesmith.models.trees import Trees
from tunesmith.problem import Problem
from tunesmith.space import Config
from tunesmith.task import Task
from tunesmith.transfer.encoding import Encoding, Estimates, logs_of
from tunesmith.transfer.training_set import Series, timed
from tunesmith.tuners.view import OfConfigs

Array = npt.NDArray[np.float64]

GROWTH = Growth(rounds=200, depth=5, rate=0.1, rows=0.8, columns=0.5, least_weight=0.4)
"""How the trees grow. Chosen by what they find for networks that they have not seen."""

LEAST_TRIALS = 500
"""With fewer trials there is nothing to learn from, however many of them are looked at."""

# Corrections are not larger than this, in powers of two: what is far off says little.
_LARGEST = 1.5
# A failed trial is like one that is slower than estimated by this.
_FAILED = -2.0
# What stands for an estimate where a sketch has none: operations a second, which any would do.
_RATE = 1e10


class TooFewTrialsError(UsageError):
    """There are not enough trials to learn from."""


@dataclass(frozen=True)
class GlobalModel:
    """What was learned; ``sketches`` are those that it knows, with their versions.

    ``trials`` and ``tasks`` say how many it learned from, ``origin`` is JSON-ready and says more.
    It corrects the estimates, or those of the model ``below`` it.
    """

    encoding: Encoding
    trees: Trees
    sketches: Mapping[str, int]
    trials: int
    tasks: int
    origin: Mapping[str, Any]
    below: GlobalModel | None = None

    @property
    def described(self) -> dict[str, Any]:
        """What the records of a run say of it."""
        return {
            "trials": self.trials,
            "tasks": self.tasks,
            "scope": self.origin.get("scope"),
            "below": None if self.below is None else self.below.described,
        }

    def knows(self, problem: TaskProblem) -> bool:
        """Whether it has learned from trials of the problem's sketch, as it is now."""
        return self.sketches.get(problem.sketch.name) == problem.sketch.version

    def corrects(self, problem: TaskProblem) -> bool:
        """Whether it, or the one below it, knows the problem's sketch."""
        return self.knows(problem) or (self.below is not None and self.below.corrects(problem))

    def log_speeds(
        self, problem: TaskProblem, configs: Sequence[Config], estimates: Estimates | None = None
    ) -> Array:
        """The logarithms to base 2 of calls a second, shape (configs,), but for a constant that is
        the same for all configs of a task, those of other sketches included; -infinity for what
        cannot run.

        ``estimates`` are those of the problem's sketch, where they are known already.
        """
        known = problem.estimates_with_parts(configs) if estimates is None else estimates
        below = _log_speeds(problem, configs, known, self.below)
        if not self.knows(problem):
            return below
        rows = self.encoding.rows(problem.task, problem.sketch.name, configs, known)
        speeds: Array = below + self.trees.predict(rows)
        return speeds

    def seconds(self, problem: TaskProblem, configs: Sequence[Config]) -> Array:
        """The estimates of the problem's sketch, corrected; shape (configs,).

        Only their order, and that among a task's sketches, means something. Infinite for what
        cannot run, NaN for a sketch that has no estimates and is not known.
        """
        if not self.corrects(problem):
            return problem.estimates(configs)
        estimates = problem.estimates_with_parts(configs)
        corrected: Array = np.exp2(-self.log_speeds(problem, configs, estimates))
        return corrected


def estimates_of(problem: Problem, model: GlobalModel | None) -> OfConfigs:
    """The function for a problem's estimates, corrected by a model if it can be."""
    if model is None or not isinstance(problem, TaskProblem):
        return problem.estimates
    return partial(model.seconds, problem)


def transferred_of(problem: Problem, model: GlobalModel | None) -> OfConfigs | None:
    """The function for the logarithms of speeds that a model predicts; None where it cannot."""
    if model is None or not isinstance(problem, TaskProblem) or not model.corrects(problem):
        return None
    return partial(model.log_speeds, problem)


def learn(
    series: Sequence[Series],
    *,
    growth: Growth = GROWTH,
    origin: Mapping[str, Any] | None = None,
    below: GlobalModel | None = None,
    least: int = LEAST_TRIALS,
    most: int | None = None,
) -> GlobalModel:
    """Learn from series. Those of unknown sketches or other versions are left out.

    What is learned corrects the model ``below``, if there is one. Of a series ``most`` trials are
    looked at, drawn at random. Raises ``TooFewTrialsError`` for fewer than ``least`` trials, those
    not looked at included, ``UsageError`` where all failed or took the same time, and
    ``MissingDependencyError`` without XGBoost.
    """
    model = BoostedTrees(0, "regression", growth)  # whose complaint is due now
    known: list[tuple[Series, TaskProblem]] = []
    there = 0
    for each in series:
        problem = problem_of(each)
        if problem is not None:
            known.append((each if most is None else each.at_most(most), problem))
            there += len(each.configs)
    if there < least:
        raise TooFewTrialsError(
            f"a model of other tasks needs {least} trials of sketches as they are now, and there "
            f"are {there}: tune more"
        )
    encoding = Encoding.of((each.task, each.sketch, each.configs) for each, _ in known)
    features, bases, seconds, tasks = [], [], [], []
    numbers: dict[tuple[Task, str], int] = {}
    for each, problem in known:
        estimates = problem.estimates_with_parts(each.configs)
        features.append(encoding.rows(each.task, each.sketch, each.configs, estimates))
        bases.append(-_log_speeds(problem, each.configs, estimates, below))
        seconds.append(each.seconds)
        tasks.append(np.full(len(each.configs), numbers.setdefault(each.compared, len(numbers))))
    values, weights = _targets(*map(np.concatenate, (bases, seconds, tasks)))
    if not weights.any():
        why = "every trial failed"
        if any(timed(each).any() for each in seconds):
            why = "all that worked of a task took the same time"
        raise UsageError(f"there is nothing to learn from: {why}")
    model = BoostedTrees(len(encoding.names), "regression", growth)
    model.fit(np.concatenate(features), values, weights=weights)
    sketches = {each.sketch: each.sketch_version for each, _ in known}
    count = sum(map(len, seconds))
    different = len({each.task for each, _ in known})
    return GlobalModel(
        encoding, model.trees(), sketches, count, different, dict(origin or {}), below
    )


def unlearned(sketches: Mapping[str, int]) -> GlobalModel:
    """A model that has learned nothing, for sketches by their versions: it leaves their estimates
    as they are."""
    return GlobalModel(Encoding(()), Trees.of([]), dict(sketches), 0, 0, {"scope": "estimates"})


def problem_of(series: Series) -> TaskProblem | None:
    """The problem of a series; None if its sketch is not there any more, or is another version."""
    try:
        problem = TaskProblem.of(series.task, series.sketch)
    except TunesmithError:
        return None
    return problem if problem.sketch.version == series.sketch_version else None


def predicted(model: GlobalModel | None, series: Series) -> Array:
    """What a model, or without one the sketch's estimates, say of a series whose sketch is known:
    logarithms to base 2 of calls a second, but for a constant, shape (configs,)."""
    problem = problem_of(series)
    assert problem is not None
    estimates = problem.estimates_with_parts(series.configs)
    return _log_speeds(problem, series.configs, estimates, model)


def _log_speeds(
    problem: TaskProblem,
    configs: Sequence[Config],
    estimates: Estimates,
    model: GlobalModel | None,
) -> Array:
    """What is corrected: what a model says, or the estimates, one number where there are none."""
    if model is not None:
        return model.log_speeds(problem, configs, estimates)
    logs = logs_of(estimates[0])
    unknown = math.log2(max(1, problem.task.operator.flops) / _RATE)
    return -np.where(np.isnan(logs), unknown, logs)


def _targets(bases: Array, seconds: Array, tasks: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """What is to be learned of each trial, and its weight.

    The weight is the trial's share of the best speed of its task, as it is fast configs that have
    to be told apart; all trials of a task weigh as the root of their number. Tasks of which nothing
    is valid, or everything is equally fast, weigh nothing, nor does a trial whose base is infinite,
    which stays what it is.
    """
    possible = np.isfinite(bases)
    succeeded = timed(seconds) & possible
    corrections = np.where(possible, bases, 0.0) - np.log2(np.where(succeeded, seconds, math.nan))
    values, weights = np.zeros(len(bases)), np.zeros(len(bases))
    for those in members_of(tasks):
        valid = those[succeeded[those]]
        if not len(valid) or (len(valid) > 1 and not np.ptp(seconds[valid]) > 0.0):
            continue
        shares = seconds[valid].min() / seconds[valid]
        mean = np.average(corrections[valid], weights=shares)
        values[those] = _FAILED
        values[valid] = np.clip(corrections[valid] - mean, -_LARGEST, _LARGEST)
        weights[those] = shares.mean()
        weights[valid] = shares
        weights[those] /= math.sqrt(len(those))
    weights[~possible] = 0.0
    return values, weights
