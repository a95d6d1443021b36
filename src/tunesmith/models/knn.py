"""Weighted k-nearest-neighbour regression (NoSE, section III-B, equations 1 to 4).

In the paper a config is a vector with one number per ordinal or categorical gene, and the distance
is Canberra's: the sum over the genes of |x - z| / (|x| + |z|), each between 0 and 1. Here a gene
may have several numbers (see ``Genes``), and its distance is the mean of Canberra's terms over
them, so all genes have the same weight. For positive numbers a term is tanh(|ln x - ln z| / 2): it
compares sizes by their ratio, which is what matters for tiles. Values without an order have
distance 0 if equal, else 1. (With one-hot indicators, two values would differ in two indicators,
each with a term of 1.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from tunesmith.models.cost_model import Prediction

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

# The number of distances in memory at a time: 16 MB.
_PAIRS_AT_ONCE = 1 << 22

# The smallest distance. With it, the prediction for a known config is its own value up to rounding.
_LEAST_DISTANCE = 1e-30


class KnnRegressor:
    """Predicts a point's value as a weighted mean of the values of its ``k`` nearest known points.

    A ``CostModel`` without uncertainty. ``widths`` is how many features
    each gene has, by default one; ``unordered`` has the indices of the genes whose values have no
    order. Points at the same distance share the remaining places among the nearest ``k``, so the
    order of the known points has no influence.
    """

    def __init__(
        self,
        features: int,
        k: int = 9,
        widths: Sequence[int] | None = None,
        unordered: Collection[int] = (),
    ) -> None:
        self.k = k
        spans = pairwise(accumulate(widths or [1] * features, initial=0))
        self._genes = [
            _Gene(slice(first, last), place in unordered)
            for place, (first, last) in enumerate(spans)
        ]
        self._values: Array = np.empty(0)

    def fit(self, features: Array, values: Array) -> None:
        """As in ``CostModel``."""
        for gene in self._genes:
            gene.learn(features)
        self._values = np.array(values)

    def predict(self, features: Array) -> Prediction:
        """As in ``CostModel``."""
        highest = float(np.abs(self._values).max()) or 1.0  # sums of huge values would overflow
        shares = self._values / highest
        step = max(1, _PAIRS_AT_ONCE // len(shares))
        blocks = [
            _weighted_mean(self.distances(features[top : top + step]), shares, self.k)
            for top in range(0, len(features), step)
        ]
        return Prediction(np.concatenate([np.empty(0), *blocks]) * highest, None)

    def distances(self, features: Array) -> npt.NDArray[np.float32]:
        """The Canberra distances to the known points, shape (points, known)."""
        total = np.zeros((len(features), len(self._values)), dtype=np.float32)
        for gene in self._genes:
            total += gene.distances(features)
        return total


class _Gene:
    """A gene's distinct known values."""

    def __init__(self, span: slice, unordered: bool) -> None:
        self._span = span
        self._unordered = unordered
        self._distinct: Array = np.empty((0, 0))
        self._codes: Codes = np.empty(0, dtype=np.intp)

    def learn(self, features: Array) -> None:
        self._distinct, self._codes = _distinct_rows(features[:, self._span])

    def distances(self, features: Array) -> npt.NDArray[np.float32]:
        """The distances to the known points in this gene, shape (points, known)."""
        # Offspring of a few parents have few distinct values, and so do the known points.
        distinct, codes = _distinct_rows(features[:, self._span])
        if self._unordered:
            table = (distinct != self._distinct[:, 0]).astype(np.float32)
        else:
            table = canberra(distinct, self._distinct).astype(np.float32)
        between: npt.NDArray[np.float32] = table[:, self._codes][codes]
        return between


def _distinct_rows(rows: Array) -> tuple[Array, Codes]:
    """The distinct rows, and the index of each row among them."""
    if rows.shape[1] == 1:  # much faster without an axis
        values, codes = np.unique(rows[:, 0], return_inverse=True)
        return values[:, None], codes.ravel()
    found, codes = np.unique(rows, axis=0, return_inverse=True)
    return found, codes.ravel()


def canberra(x: Array, z: Array) -> Array:
    """The mean of Canberra's terms |x - z| / (|x| + |z|) (equation 4), with 0/0 = 0.

    Shape (rows, others), for ``x`` of shape (rows, numbers) and ``z`` of shape (others, numbers).
    """
    total = np.zeros((len(x), len(z)))
    for left, right in zip(x.T, z.T, strict=True):
        difference = np.abs(left[:, np.newaxis] - right)
        size = np.abs(left)[:, np.newaxis] + np.abs(right)
        total += np.divide(difference, size, out=np.zeros_like(size), where=size > 0.0)
    mean: Array = total / x.shape[1]
    return mean


def _weighted_mean(distances: npt.NDArray[np.float32], values: Array, k: int) -> Array:
    """For each row, the mean of the ``k`` nearest values, weighted by 1 / distance (equations 1-3).

    ``distances`` has the shape (rows, len(values)).
    """
    k = min(k, len(values))
    border = np.partition(distances, k - 1, axis=1)[:, k - 1]
    row, known = np.nonzero(distances <= border[:, np.newaxis])
    distance = distances[row, known]
    on_border = distance == border[row]
    places = k - np.bincount(row, ~on_border, len(distances))
    share = places / np.bincount(row, on_border, len(distances))
    weights = np.where(on_border, share[row], 1.0) / np.maximum(
        distance.astype(np.float64), _LEAST_DISTANCE
    )
    weighted_sum = np.bincount(row, weights * values[known], len(distances))
    mean: Array = weighted_sum / np.bincount(row, weights, len(distances))
    return mean
