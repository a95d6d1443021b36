"""Columns of values, on which a constraint is evaluated for many configs at once.

A column of numbers is a one-dimensional array of int64 or float64. A column of tuples of one length
is a tuple of such arrays, one per part. Any other column is an array of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.space.value import Value

Array = npt.NDArray[Any]
Column = Array | tuple[Array, ...]

# Up to here integers are exact in float64, so int64 and float64 columns mix as Python's numbers do.
LARGEST_EXACT = 1 << 53


def column_of(values: Sequence[Value]) -> Column:
    """The column of these values, one per row."""
    tuples = [value for value in values if isinstance(value, tuple)]
    lengths = {len(value) for value in tuples}
    if len(tuples) == len(values) and len(lengths) == 1 and 0 not in lengths:
        return tuple(_array_of(part) for part in zip(*tuples, strict=True))
    return _array_of(values)


def _array_of(values: Sequence[Value]) -> Array:
    kinds = set(map(type, values))
    # Booleans become 0 and 1, as in Python's arithmetic and comparisons.
    if kinds <= {int, bool, float} and all(abs(v) <= LARGEST_EXACT for v in values):  # type: ignore[arg-type]
        return np.array(values, dtype=np.float64 if float in kinds else np.int64)
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):  # one by one: NumPy would unpack a tuple
        array[row] = value
    return array


def take(column: Column, rows: Array) -> Column:
    """The rows of a column that an index array or a mask selects."""
    if isinstance(column, tuple):
        return tuple(part[rows] for part in column)
    return column[rows]


def magnitude(column: Column) -> float:
    """The largest absolute value in a column; 0 if it has no numbers."""
    if isinstance(column, tuple):
        return max((magnitude(part) for part in column), default=0.0)
    if column.dtype == object or not len(column):
        return 0.0
    return float(np.abs(column).max())


@dataclass(frozen=True)
class Frame:
    """Columns by name, all of ``rows`` rows."""

    columns: Mapping[str, Column]
    rows: int

    def where(self, mask: Array, names: Iterable[str]) -> Frame:
        """The rows that ``mask`` selects, of the columns that ``names`` lists."""
        kept = {name: take(self.columns[name], mask) for name in names}
        return Frame(kept, int(np.count_nonzero(mask)))
