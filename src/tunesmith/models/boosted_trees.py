"""Gradient-boosted trees ("Learning to Optimize Tensor Programs", section 3.1), which XGBoost grows
by the objectives of its section 3.2.

The rank loss (equation 2) sums over all pairs of points, so a round of boosting over n points costs
n times n. More than 2,048 points of a task are split into parts of at most so many, and pairs are
those within a part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tunesmith.errors import MissingDependencyError, UsageError, first_line
from tunesmith.models.cost_model import Objective, Prediction
from tunesmith.models.groups import members_of
from tunesmith.models.trees import DEEPEST, Trees

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Groups = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Growth:
    """How trees grow; by default with the values of AutoTVM's implementation, but for 80 rounds,
    always: that one goes on until it finds no more of the best points.

    Each of ``rounds`` trees has at most ``depth`` splits on a way down, from 1 to 8, and its leaves
    count by ``rate``. ``rows`` and ``columns`` are the shares of points and features, drawn anew,
    that it learns from; ``least_weight`` is what a leaf needs in points.
    """

    rounds: int = 80
    depth: int = 3
    rate: float = 0.3
    rows: float = 1.0
    columns: float = 1.0
    least_weight: float = 1.0


# The least gain of a split.
_LEAST_GAIN = 1e-4

# Of more points of a group than these, not all are compared with each other.
_ALL_PAIRS = 2048

# How many points are compared with those below them at a time: what is computed fits in a cache.
_ROWS = 128

# So many points that work, among more that fail, weigh enough for a leaf of their own: each a
# quarter in the beginning.
_ENOUGH = 5

# The least second derivative of a point: XGBoost divides by sums of these.
_LEAST_CURVATURE = 1e-6


class BoostedTrees:
    """A ``CostModel`` without uncertainty.

    With the objective ``rank`` predictions have the order of the values, but neither their unit nor
    their scale. Raises ``UsageError`` for another objective than ``rank`` and ``regression``, and
    for another depth than 1 to 8, ``MissingDependencyError`` without XGBoost.
    """

    objectives: ClassVar[tuple[Objective, ...]] = ("rank", "regression")

    def __init__(
        self, features: int, objective: Objective = "rank", growth: Growth | None = None
    ) -> None:
        if objective not in self.objectives:
            raise UsageError(f"the objective must be rank or regression, not {objective!r}")
        self.objective = objective
        self.growth = growth or Growth()
        if not 1 <= self.growth.depth <= DEEPEST:
            raise UsageError(f"trees have 1 to {DEEPEST} levels, not {self.growth.depth}")
        self._features = features
        self._xgboost = _xgboost()
        self._trees = Trees.of([])
        self._base = 0.0
        self._least = 0.0
        self._range = 0.0

    def fit(
        self,
        features: Array,
        values: Array,
        groups: Groups | None = None,
        weights: Array | None = None,
    ) -> None:
        """As in ``CostModel``. Features may be NaN, which means that they are not known; XGBoost
        refuses infinite ones.

        ``groups``, shape (n,), number the tasks that points are of: the objective ``rank`` compares
        only points of the same one. ``weights``, shape (n,), are for the objective ``regression``.
        """
        self._trees, self._base = Trees.of([]), 0.0
        self._least, self._range = float(values.min()), float(np.ptp(values))
        if not self._range > 0.0 or not self._features:
            return
        scaled = (values - self._least) / self._range
        is_rank = self.objective == "rank"
        data = self._xgboost.DMatrix(
            features, label=scaled, weight=None if is_rank else weights, nthread=1
        )
        growth = self.growth
        objective = _RankObjective(scaled, groups) if is_rank else None
        settings = {
            "max_depth": growth.depth,
            "eta": growth.rate,
            "gamma": _LEAST_GAIN,
            "min_child_weight": growth.least_weight
            * (objective.least_weight if objective else 1.0),
            "subsample": growth.rows,
            "colsample_bytree": growth.columns,
            "base_score": 0.0 if is_rank else float(np.average(scaled, weights=weights)),
            "tree_method": "hist",
            "nthread": 1,  # more wait for each other longer than they work
            "verbosity": 0,
            "disable_default_eval_metric": 1,
        }
        grown = self._xgboost.train(settings, data, growth.rounds, obj=objective)
        learner = json.loads(grown.save_raw("json"))["learner"]
        self._trees = Trees.of(learner["gradient_booster"]["model"]["trees"])
        self._base = _base_score(learner["learner_model_param"]["base_score"])

    def predict(self, features: Array) -> Prediction:
        """As in ``CostModel``. Raises ``ValueError`` for another number of features."""
        if features.shape[1] != self._features:
            raise ValueError(f"the model has {self._features} features, not {features.shape[1]}")
        margins = self._trees.margins(features, self._base).astype(np.float64)
        return Prediction(self._least + self._range * margins, None)

    def trees(self) -> Trees:
        """What was learned, with predictions in the unit of the values. Call ``fit`` first."""
        return self._trees.scaled(self._range, self._least + self._range * self._base)


def _base_score(written: str) -> float:
    """XGBoost writes a number, or a list of one."""
    return float(written.strip("[]"))


class _RankObjective:
    """Equation 2 for XGBoost, over the pairs within each group, or each part of a large one."""

    def __init__(self, values: Array, groups: Groups | None) -> None:
        numbers = np.zeros(len(values), dtype=np.int64) if groups is None else groups
        self._count = len(values)
        self._failing = int(np.count_nonzero(values <= values.min()))
        self._working = self._count - self._failing
        self._members = [(those, RankPairs(values[those])) for those in _compared(numbers)]

    def __call__(self, predictions: Array, _: Any) -> tuple[Array, Array]:
        first, second = np.empty(self._count), np.empty(self._count)
        for those, pairs in self._members:
            first[those], second[those] = pairs.derivatives(predictions[those])
        return first, second

    @property
    def least_weight(self) -> float:
        """What part of its weight a leaf needs: 1 but where fewer than five points work, and more
        fail. Those few never weigh as much, and less with every round that tells them apart: the
        square leaves room for some rounds."""
        if self._working >= min(_ENOUGH, self._failing):
            return 1.0
        return (self._working / _ENOUGH) ** 2


def _compared(groups: Groups) -> Iterator[npt.NDArray[np.intp]]:
    """The points of each group, or of one with too many, of each of its parts: every so many-th of
    its points, as those that were measured about the same time are alike."""
    for those in members_of(groups):
        parts = -(-len(those) // _ALL_PAIRS)
        yield from (those[first::parts] for first in range(parts))


class RankPairs:
    """All pairs of points with different ``values``, shape (n,)."""

    def __init__(self, values: Array) -> None:
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        below = np.searchsorted(ordered, ordered, side="left")
        self._blocks = [
            _Block.of(slice(first, first + _ROWS), below[first : first + _ROWS])
            for first in range(0, len(values), _ROWS)
        ]

    def derivatives(self, predictions: Array) -> tuple[Array, Array]:
        """The first and second derivatives of equation 2 by each prediction, shape (n,) each.

        The loss of a pair is log(1 + exp(-(f_i - f_j))) if value i is above value j. The sums over
        the pairs of a point are divided by the number of points.
        """
        given = predictions[self._order].astype(np.float32)
        slope, curvature = np.zeros(len(given)), np.zeros(len(given))
        for block in self._blocks:
            # The probability, by the model, that the one below is better.
            with np.errstate(over="ignore"):  # infinity stands for a chance of 0
                chances = np.exp(given[block.points, None] - given[: block.end])
            chances += np.float32(1.0)
            np.reciprocal(chances, out=chances)
            chances[:, block.start :] *= block.is_below
            slope[block.points] -= chances.sum(axis=1)
            slope[: block.end] += chances.sum(axis=0)
            chances -= chances * chances
            curvature[block.points] += chances.sum(axis=1)
            curvature[: block.end] += chances.sum(axis=0)
        first, second = np.empty(len(given)), np.empty(len(given))
        first[self._order] = slope / len(given)
        second[self._order] = np.maximum(curvature / len(given), _LEAST_CURVATURE)
        return first, second


class _Block(NamedTuple):
    """The pairs of some ``points`` with those below them, by their places in order of value: all
    before ``start``, and from there to ``end`` those that ``is_below`` says with a 1."""

    points: slice
    start: int
    end: int
    is_below: Floats

    @classmethod
    def of(cls, points: slice, below: npt.NDArray[np.intp]) -> Self:
        """``below`` is how many are below each of the points."""
        start, end = int(below[0]), int(below[-1])
        return cls(points, start, end, (np.arange(start, end) < below[:, None]).astype(np.float32))


def _xgboost() -> Any:
    try:
        import xgboost
    except ImportError as error:
        raise MissingDependencyError(
            "boosted trees need XGBoost: pip install 'tunesmith[models]'"
        ) from error
    except Exception as error:  # its own ones, where its library or OpenMP's cannot be loaded
        raise MissingDependencyError(
            f"boosted trees need XGBoost, which cannot be loaded: {first_line(error)}"
        ) from error
    return xgboost
