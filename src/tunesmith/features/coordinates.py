"""Where a config lies among the others: coordinates in [0, 1], close together for similar speed.

Sizes of programs act by their logarithm, and by how often 2 divides them: vectors, cache lines and
thread groups are powers of two. So a number has two coordinates, its logarithm and that of its
odd part, which is 0 for powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tunesmith.space import Config, Factorization, Ordinal, Parameter, Permutation, Space, Value
from tunesmith.space.value import identity

Array = npt.NDArray[np.float64]

# Different values of a parameter without an order are as far apart as the ends of an order: each
# of the two coordinates in which they differ counts half.
_HALF = 0.5


class Coordinates:
    """Coordinates of the configs of a space; ``count`` of them for each.

    A parameter with a single value has none. Numbers with an order have their logarithm, scaled to
    [0, 1], and the logarithm of their odd part where some have one; factorizations have these for
    each part; permutations the place of each item; other parameters one coordinate a value.
    """

    def __init__(self, space: Space) -> None:
        self._names = [p.name for p in space.parameters if p.cardinality > 1]
        parameters = [p for p in space.parameters if p.cardinality > 1]
        self._scales = [_Scale(parameter) for parameter in parameters]
        self.count = sum(scale.count for scale in self._scales)
        # The largest logarithm of an odd part, which is a coordinate of 1; 0 for other coordinates.
        self._odd_logs: Array = np.array(
            [log for scale in self._scales for log in scale.odd_logs], dtype=np.float64
        )

    def of(self, config: Config) -> Array:
        """The coordinates of one config, shape (count,)."""
        row: Array = self.of_all([config])[0]
        return row

    def of_all(self, configs: Sequence[Config]) -> Array:
        """The coordinates of several, shape (configs, count)."""
        if not configs or not self._scales:
            return np.empty((len(configs), self.count))
        columns = zip(*(config.values_of(self._names) for config in configs), strict=True)
        parts = [scale.of_all(column) for scale, column in zip(self._scales, columns, strict=True)]
        return np.concatenate(parts, axis=1)

    def roundness(self, rows: Array) -> Array:
        """How round the values of ordinal parameters are.

        ``rows``, shape (configs, count), are their coordinates. The result, shape (configs,), is 1
        where all are powers of two or 0, and one over the product of their odd parts elsewhere.
        """
        result: Array = np.exp2(-(rows @ self._odd_logs))
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
        self._numbers: dict[object, int] = {}
        self._rows: Array = np.empty((0, self.count))
        self.odd_logs = [0.0] * self.count
        if isinstance(parameter, Ordinal) and self._most_odd:
            self.odd_logs[-1] = self._most_odd

    def of_all(self, values: Sequence[Value]) -> Array:
        """Of several values, shape (values, count); they come up again and again."""
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
            last = len(parameter.items) - 1
            return tuple(place / last for place in parameter.encode(value))
        if parameter.cardinality == 2:
            return (float(parameter.index_of(value)),)
        return tuple(_HALF * flag for flag in parameter.encode(value))

    def _number(self, value: Value) -> tuple[float, ...]:
        place = (_log(value) - self._least) / (self._most - self._least)
        if not self._most_odd:
            return (place,)
        return place, _log_odd_part(value) / self._most_odd


def _log(value: Value) -> float:
    """The logarithm to base 2 where that is no less than 0; what goes on smoothly below."""
    assert isinstance(value, int | float)
    return math.log2(value) if value >= 1 else (value - 1) / math.log(2)


@lru_cache(maxsize=4096)
def _log_odd_part(value: Value) -> float:
    """The logarithm to base 2 of the odd part of a positive integer; 0 for all else."""
    if not isinstance(value, int) or value <= 0:
        return 0.0
    return math.log2(value // (value & -value))
