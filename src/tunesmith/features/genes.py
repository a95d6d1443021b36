"""Configs as genes: the numbers that NoSE's distance compares (its equation 4).

Which number stands for a value the paper leaves open. A gene is a parameter, and may need several:

- Ordinal: the rank of its value, counted from 1, as in the paper's source for ordinal data (Jurman
  et al., "Canberra distance on ranked lists"). Of the values themselves, a 0 would be as far from
  the next one as from the last.
- Permutation: the rank of each item, counted from 1.
- Factorization: its parts.
- Categorical: the number of its value. As values have no order, they are alike or not.
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


class Genes:
    """The genes of a space's configs, one after the other.

    ``widths`` says how many numbers each gene has, ``unordered`` which genes have values that are
    alike or not.
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
        """The numbers of a config."""
        return [
            number
            for parameter in self._parameters
            for number in gene_numbers(parameter, config[parameter.name])
        ]

    def of_all(self, configs: Sequence[Config]) -> Array:
        """Those of several, shape (configs, numbers)."""
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
