"""Weighted k-nearest-neighbour regression over configs (NoSE, section III-B, equations 1 to 4).

The paper's configs are vectors of numbers, one an ordinal or categorical gene, and its distance is
Canberra's: the sum over the genes of |x - z| / (|x| + |z|), each between 0 and 1. Which number
stands for a value the paper leaves open, and here a gene is a parameter, which may need several. So
that all genes still weigh alike, a gene's distance is the mean of Canberra's terms over its
numbers:

- Ordinal: the rank of its value, counted from 1, as in the paper's source for ordinal data (Jurman
  et al., "Canberra distance on ranked lists"). Of the values themselves, a 0 would be as far from
  the next one as from the last.
- Permutation: the rank of each item, counted from 1.
- Factorization: its parts. For positive numbers a term is tanh(|ln x - ln z| / 2), so it compares
  sizes by their ratio, which is what matters of a tile.
- Categorical: as its values have no order, each has an indicator of its own. Two values differ in
  two indicators, each with a term of 1, and the mean over those is 1: values are alike or not.
- Any other kind: what it encodes itself as.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.space import (
    Categorical,
    Config,
    Factorization,
    Ordinal,
    Parameter,
    Permutation,
    Space,
    Value,
)

Array = npt.NDArray[np.float64]

# Distances of so many pairs of configs are held at once: 16 MB.
_PAIRS_AT_ONCE = 1 << 22

# Distances count as this at least: a config that is known has, but for rounding, its own value.
_LEAST_DISTANCE = 1e-30


class KnnRegressor:
    """Predicts a config's value from those of the ``k`` nearest known ones, the nearer the more.

    Where several configs are equally far and not all of them are among the nearest ``k``, they
    share the places that are left. So the order in which configs became known has no influence.
    """

    def __init__(self, space: Space, k: int) -> None:
        self.k = k
        self._genes = [_Gene(parameter) for parameter in space.parameters]
        # Shape (genes, capacity): for each known config the number of its value in each gene.
        self._codes = np.empty((len(self._genes), 256), dtype=np.intp)
        self._values: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, config: Config, value: float) -> None:
        """Make a config's value known, a finite number that is not negative."""
        place = len(self._values)
        if place == self._codes.shape[1]:
            self._codes = np.concatenate([self._codes, np.empty_like(self._codes)], axis=1)
        for row, gene in enumerate(self._genes):
            self._codes[row, place] = gene.code(config[gene.name])
        self._values.append(value)

    def predict(self, configs: Sequence[Config]) -> Array:
        """The predicted values, shape (len(configs),), as shares of the highest known one.

        At least one config must be known.
        """
        highest = max(self._values) or 1.0  # shares, because sums of huge values would overflow
        values = np.array(self._values) / highest
        step = max(1, _PAIRS_AT_ONCE // len(values))
        blocks = [
            _weighted_mean(self.distances(configs[top : top + step]), values, self.k)
            for top in range(0, len(configs), step)
        ]
        return np.concatenate([np.empty(0), *blocks])

    def distances(self, configs: Sequence[Config]) -> npt.NDArray[np.float32]:
        """The Canberra distances to the known configs, shape (len(configs), len(self))."""
        total = np.zeros((len(configs), len(self)), dtype=np.float32)
        for gene, codes in zip(self._genes, self._codes[:, : len(self)], strict=True):
            # Configs bred of few parents have few distinct values, and the known ones not many.
            rows: dict[Value, int] = {}
            row = [rows.setdefault(config[gene.name], len(rows)) for config in configs]
            total += gene.distances(list(rows))[:, codes][row]
        return total


class _Gene:
    """A parameter's values that are known, numbered in the order in which they became known."""

    def __init__(self, parameter: Parameter) -> None:
        self.name = parameter.name
        self._parameter = parameter
        self._codes: dict[Value, int] = {}
        self._numbers: list[tuple[float, ...]] = []

    def code(self, value: Value) -> int:
        """The number of a value, which is known from now on."""
        code = self._codes.setdefault(value, len(self._codes))
        if code == len(self._numbers):
            self._numbers.append(gene_numbers(self._parameter, value))
        return code

    def distances(self, values: Sequence[Value]) -> npt.NDArray[np.float32]:
        """From each of ``values`` to each known one, shape (len(values), known values)."""
        numbers = [gene_numbers(self._parameter, value) for value in values]
        if isinstance(self._parameter, Categorical):
            place, known = np.array(numbers)[:, 0], np.array(self._numbers)[:, 0]
            differ: npt.NDArray[np.bool_] = place[:, np.newaxis] != known
            return differ.astype(np.float32)
        return canberra(np.array(numbers), np.array(self._numbers)).astype(np.float32)


def gene_numbers(parameter: Parameter, value: Value) -> tuple[float, ...]:
    """The numbers that stand for a parameter's value; for a Categorical, its place alone."""
    match parameter:
        case Ordinal() | Categorical():
            return (parameter.index_of(value) + 1.0,)
        case Factorization():
            assert isinstance(value, tuple)
            return tuple(float(part) for part in value)
        case Permutation():
            return tuple(position + 1.0 for position in parameter.encode(value))
    return parameter.encode(value)


def canberra(x: Array, z: Array) -> Array:
    """The mean of Canberra's terms |x - z| / (|x| + |z|) (equation 4), where 0/0 counts as 0.

    From each row of ``x``, shape (rows, numbers), to each of ``z``, shape (others, numbers): shape
    (rows, others).
    """
    total = np.zeros((len(x), len(z)))
    for of_x, of_z in zip(x.T, z.T, strict=True):
        difference = np.abs(of_x[:, np.newaxis] - of_z)
        size = np.abs(of_x)[:, np.newaxis] + np.abs(of_z)
        total += np.divide(difference, size, out=np.zeros_like(size), where=size > 0.0)
    mean: Array = total / x.shape[1]
    return mean


def _weighted_mean(distances: npt.NDArray[np.float32], values: Array, k: int) -> Array:
    """For each row the mean of the ``k`` nearest values, weighted by 1 / distance (equations 1-3).

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
