"""Configs as genes: the numbers that NoSE's distance compares (its equation 4).

A gene is a parameter. The paper does not say how to turn its value into numbers; here they are:

- Ordinal: the rank of its value, counted from 1, as in the paper's source for ordinal data (Jurman
  et al., "Canberra distance on ranked lists"). With the values themselves, 0 would be as far from
  its neighbour as from the last value.
- Permutation: the rank of each item, counted from 1.
- Factorization: its parts.
- Categorical: the index of its value, counted from 1. Values have no order: two are equal or not.
- Any other kind: the result of ``encode``.
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


class Genes:
    """The genes of a space's configs.

    ``widths`` is how many numbers each gene has, ``unordered`` the indices of the genes whose
    values have no order.
    """

    def __init__(self, space: Space) -> None:
        self._parameters = space.parameters
        first = [gene_numbers(parameter, parameter.value_at(0)) for parameter in space.parameters]
        self.widths = tuple(len(numbers) for numbers in first)
        self.unordered = frozenset(
            place
            for place, parameter in enumerate(space.parameters)
            if isinstance(parameter, Categorical)
        )

    def of(self, config: Config) -> list[float]:
        """The numbers of a config, gene after gene."""
        return [
            number
            for parameter in self._parameters
            for number in gene_numbers(parameter, config[parameter.name])
        ]

    def of_all(self, configs: Sequence[Config]) -> Array:
        """The numbers of several configs, shape (configs, numbers)."""
        return np.array([self.of(config) for config in configs]).reshape(-1, sum(self.widths))


def gene_numbers(parameter: Parameter, value: Value) -> tuple[float, ...]:
    """The numbers that stand for a parameter's value."""
    match parameter:
        case Ordinal() | Categorical():
            return (parameter.index_of(value) + 1.0,)
        case Factorization():
            assert isinstance(value, tuple)
            return tuple(float(part) for part in value)
        case Permutation():
            return tuple(position + 1.0 for position in parameter.encode(value))
    return parameter.encode(value)
