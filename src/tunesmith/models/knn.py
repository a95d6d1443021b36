"""Weighted k-nearest-neighbour regression over configs (NoSE, section III-B, equations 1 to 4).

In the paper a config is a vector with one number per ordinal or categorical gene, and its distance
is Canberra's: the sum over the genes of |x - z| / (|x| + |z|), each between 0 and 1. The paper does
not say which number represents a value. Here a gene is a parameter, which may need several numbers.
To weight all genes equally, a gene's distance is the mean of Canberra's terms over its numbers:

- Ordinal: the rank of its value, counted from 1, as in the paper's source for ordinal data (Jurman
  et al., "Canberra distance on ranked lists"). With the values themselves, 0 would be as far from
  the next value as from the last one.
- Permutation: the rank of each item, counted from 1.
- Factorization: its parts. For positive numbers a term is tanh(|ln x - ln z| / 2), so it compares
  tile sizes by their ratio.
- Categorical: one indicator per value, as values have no order. Two values differ in two
  indicators, each with a term of 1, and the mean over these is 1.
- Any other kind: its ``encode``.
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

# The number of distances that are held at a time: 16 MB.
_PAIRS_AT_ONCE = 1 << 22

# The smallest distance. With it, the prediction for a known config is its own value up to rounding.
_LEAST_DISTANCE = 1e-30


class KnnRegressor:
    """Predicts a config's value from the ``k`` nearest known ones, weighted by inverse distance.

    If several configs tie for the last of the ``k`` places, they share these places. So the order
    in which configs were added does not matter.
    """

    def __init__(self, space: Space, k: int) -> None:
        self.k = k
        self._genes = [_Gene(parameter) for parameter in space.parameters]
        # Shape (genes, capacity): for each gene and known config the code of the config's value.
        self._codes = np.empty((len(self._genes), 256), dtype=np.intp)
        self._values: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, config: Config, value: float) -> None:
        """Add a config and its value, which must be finite and not negative."""
        place = len(self._values)
        if place == self._codes.shape[1]:
            self._codes = np.concatenate([self._codes, np.empty_like(self._codes)], axis=1)
        for row, gene in enumerate(self._genes):
            self._codes[row, place] = gene.code(config[gene.name])
        self._values.append(value)

    def predict(self, configs: Sequence[Config]) -> Array:
        """The predicted values as shares of the highest known one, shape (len(configs),).

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
            # Configs bred from few parents have few distinct values, and so have the known ones.
            rows: dict[Value, int] = {}
            row = [rows.setdefault(config[gene.name], len(rows)) for config in configs]
            total += gene.distances(list(rows))[:, codes][row]
        return total


class _Gene:
    """A parameter's known values, numbered in the order in which they were added."""

    def __init__(self, parameter: Parameter) -> None:
        self.name = parameter.name
        self._parameter = parameter
        self._codes: dict[Value, int] = {}
        self._numbers: list[tuple[float, ...]] = []

    def code(self, value: Value) -> int:
        """The number of a value, which is added if it is new."""
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
    """The numbers that represent a parameter's value; for a Categorical, only its index."""
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
    """The mean of Canberra's terms |x - z| / (|x| + |z|) (equation 4), with 0/0 = 0.

    Shape (rows, others), for ``x`` of shape (rows, numbers) and ``z`` of shape (others, numbers).
    """
    total = np.zeros((len(x), len(z)))
    for of_x, of_z in zip(x.T, z.T, strict=True):
        difference = np.abs(of_x[:, np.newaxis] - of_z)
        size = np.abs(of_x)[:, np.newaxis] + np.abs(of_z)
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
