"""Coordinates of configs in [0, 1], such that configs of similar speed are close.

The effect of a size depends on its logarithm, and on how often 2 divides it: vectors, cache lines
and thread groups are powers of two. So a number has two coordinates: its logarithm, and that of its
odd part, which is 0 for powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

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
from tunesmith.space.value import identity

Array = npt.NDArray[np.float64]

# Two categories should be as far apart as the ends of an ordered parameter. They differ in two
# coordinates, so each counts half.
_HALF = 0.5

# The pairs of more items than these would be so many that a model of them takes too long.
_MOST_PAIRED = 8


class Coordinates:
    """Coordinates of the configs of a space; each config has ``count``.

    A parameter with a single value has none. An ordinal has its logarithm, scaled to [0, 1], and if
    any of its values has an odd part above 1, the logarithm of that. A factorization has these for
    each part, a categorical one per value, or a single one for two values. A permutation has one
    for each pair of items, which tells the one that comes first, and one per item for which is
    last: of loops the innermost. With more than 8 items it has the place of each in place of the
    pairs.

    ``groups`` holds a number for each coordinate, the same for those that are one choice: which
    value a categorical has, or which item is last.
    """

    def __init__(self, space: Space) -> None:
        parameters = [p for p in space.parameters if p.cardinality > 1]
        self._scales = {parameter.name: _Scale(parameter) for parameter in parameters}
        self.count = sum(scale.count for scale in self._scales.values())
        self.groups = _groups(list(self._scales.values()))
        # For a coordinate of an odd part, the largest logarithm, which scales it; 0 for others.
        self._odd_logs: Array = np.array(
            [log for scale in self._scales.values() for log in scale.odd_logs], dtype=np.float64
        )

    def of(self, config: Config) -> Array:
        """The coordinates of one config, shape (count,)."""
        row: Array = self.of_all([config])[0]
        return row

    def of_all(self, configs: Sequence[Config]) -> Array:
        """The coordinates of several configs, shape (configs, count)."""
        if not configs or not self._scales:
            return np.empty((len(configs), self.count))
        names = list(self._scales)
        columns = zip(*(config.values_of(names) for config in configs), strict=True)
        parts = [self.of_values(*named) for named in zip(names, columns, strict=True)]
        return np.concatenate(parts, axis=1)

    def of_values(self, name: str, values: Sequence[Value]) -> Array:
        """The coordinates of values of one parameter, shape (values, coordinates of it)."""
        scale = self._scales.get(name)
        return np.empty((len(values), 0)) if scale is None else scale.of_all(values)

    def relative_roundness(self, rows: Array) -> Array:
        """How close the values of ordinal parameters are to powers of two, beside the closest row.

        ``rows`` are coordinates, shape (configs, count), of one config or more. The result, shape
        (configs,), is one over the product of the odd parts, as a share of the largest such number.
        """
        odd = rows @ self._odd_logs
        result: Array = np.exp2(odd.min() - odd)
        return result


class _Scale:
    """The coordinates of a parameter's values."""

    def __init__(self, parameter: Parameter) -> None:
        self._parameter = parameter
        self._most = 1.0
        self._most_odd = 0.0
        self._least = 0.0
        if isinstance(parameter, Ordinal):
            logs = [_log(value) for value in parameter.values]
            self._least, self._most = min(logs), max(logs)
            self._most_odd = max(map(_log_odd_part, parameter.values))
        elif isinstance(parameter, Factorization):
            self._most = math.log2(parameter.product)
            self._most_odd = _log_odd_part(parameter.product)
        self.count = len(self.of(parameter.value_at(0)))
        self.own_groups = _own_groups(parameter, self.count)
        self._numbers: dict[object, int] = {}
        self._rows: Array = np.empty((0, self.count))
        self.odd_logs = [0.0] * self.count
        if isinstance(parameter, Ordinal) and self._most_odd:
            self.odd_logs[-1] = self._most_odd

    def of_all(self, values: Sequence[Value]) -> Array:
        """The coordinates of several values, shape (values, count), cached."""
        known = self._numbers
        keys = [value if value.__class__ is int else identity(value) for value in values]
        new = []
        for key, value in zip(keys, values, strict=True):
            if key not in known:
                new.append(self.of(value))
                known[key] = len(known)
        if new:
            self._rows = np.concatenate([self._rows, np.array(new)])
        return self._rows[[known[key] for key in keys]]

    def of(self, value: Value) -> tuple[float, ...]:
        parameter = self._parameter
        if isinstance(parameter, Ordinal):
            return self._number(value)
        if isinstance(parameter, Factorization):
            assert isinstance(value, tuple)
            return tuple(number for part in value for number in self._number(part))
        if isinstance(parameter, Permutation):
            return _order(parameter.encode(value))
        if parameter.cardinality == 2:
            return (float(parameter.index_of(value)),)
        return tuple(_HALF * flag for flag in parameter.encode(value))

    def _number(self, value: Value) -> tuple[float, ...]:
        if self._most > self._least:
            place = (_log(value) - self._least) / (self._most - self._least)
        else:  # values so large that their logarithms are the same
            place = self._parameter.index_of(value) / (self._parameter.cardinality - 1)
        if not self._most_odd:
            return (place,)
        return place, _log_odd_part(value) / self._most_odd


def _groups(scales: Sequence[_Scale]) -> list[int]:
    """Those of all coordinates, numbered through."""
    groups: list[int] = []
    for scale in scales:
        first = groups[-1] + 1 if groups else 0
        groups += [first + number for number in scale.own_groups]
    return groups


def _own_groups(parameter: Parameter, count: int) -> list[int]:
    """Those of a parameter with so many coordinates, from 0 on."""
    if isinstance(parameter, Categorical):
        return [0] * count
    if isinstance(parameter, Permutation):
        pairs = count - len(parameter.items)
        return [min(place, pairs) for place in range(count)]
    return list(range(count))


def _order(places: Sequence[float]) -> tuple[float, ...]:
    """For each pair of items whether the first of them has the earlier place, and for each item
    whether it has the last.

    Each item is part of as many pairs as there are others, so these count less if there are many.
    More than ``_MOST_PAIRED`` items have the place of each in place of the pairs. Two orders are
    one to two times as far apart by places as by pairs (Diaconis and Graham, "Spearman's Footrule
    as a Measure of Disarray", 1977).
    """
    last = len(places) - 1
    weight = 1.0 / last
    if len(places) > _MOST_PAIRED:
        order = [weight * place for place in places]
    else:
        order = [weight * (one < other) for one, other in combinations(places, 2)]
    return *order, *(_HALF * (place == last) for place in places)


def _log(value: Value) -> float:
    """The logarithm to base 2 from 1 on, with a smooth linear continuation below."""
    assert isinstance(value, int | float)
    return math.log2(value) if value >= 1 else (value - 1) / math.log(2)


@lru_cache(maxsize=4096)
def _log_odd_part(value: Value) -> float:
    """The logarithm to base 2 of the odd part of a positive integer; 0 for other values."""
    if not isinstance(value, int) or value <= 0:
        return 0.0
    return math.log2(value // (value & -value))
