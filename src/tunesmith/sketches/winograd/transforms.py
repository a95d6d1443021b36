"""The transforms of Winograd's minimal filtering as vector code.

F(m x m, r x r) gives m x m outputs Y of a tile d of inputs and a filter g:
Y = A^T [(G g G^T) * (B^T d B)] A, the product in brackets element by element (Lavin and Gray, "Fast
Algorithms for Convolutional Neural Networks", 2015, section 4). Tiles and filters need not be
square: the matrices on the left are those of the rows, those on the right of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, Self

from tunesmith.sketches.tir import emit
from tunesmith.sketches.winograd.minimal import Matrix, Row

Keep = Callable[[str, Any], Any]

# The most operations in straight-line code. F(4 x 4, 3 x 3) has 144 in the transform of data, and
# is up to a twentieth slower in loops where there are 32 registers.
_MOST_STRAIGHT = 200


def transform(
    rows: Matrix, columns: Matrix, element: Callable[[int, int], Any], keep: Keep = emit.bind
) -> list[list[Any]]:
    """``rows @ tile @ columns.T`` of a tile of values (vectors, or anything with arithmetic).

    ``element(i, j)`` gives the tile's values; it is called once for each, column by column, so that
    few are alive at a time. ``keep`` makes a variable of a value that is used more than once.
    """
    high, wide = len(rows[0]), len(columns[0])
    turned = [product(rows, [element(i, j) for i in range(high)], keep) for j in range(wide)]
    return [product(columns, [column[i] for column in turned], keep) for i in range(len(rows))]


@dataclass(frozen=True)
class StoredTransform:
    """``rows @ tile @ columns.T`` of a tile of vectors in memory, to memory.

    To be made outside of the loop over tiles. Small tiles are straight-line code: LLVM keeps the
    values between both matrices in registers. For large ones it could not, and would compile for
    seconds: there is a loop over columns, then one over rows, and ``between`` is memory.
    """

    rows: Matrix
    columns: Matrix
    lanes: int
    between: Any

    @classmethod
    def of(cls, rows: Matrix, columns: Matrix, dtype: str, lanes: int) -> Self:
        shape = (len(rows), len(columns[0]) * lanes)
        between = None if is_straight(rows, columns) else emit.buffer("between", shape, dtype)
        return cls(rows, columns, lanes, between)

    def write(
        self, element: Callable[[int, Any], Any], store: Callable[[Any, int, Any], None]
    ) -> None:
        """``element(i, j)`` loads a value of the tile; ``store(i, j, value)`` stores one of the
        result. A column of the tile and a row of the result may be variables."""
        if self.between is None:
            for i, values in enumerate(transform(self.rows, self.columns, element)):
                for j, value in enumerate(values):
                    store(i, j, value)
            return
        lanes, high = self.lanes, len(self.rows[0])
        with emit.serial(len(self.columns[0]), "j") as j:
            turned = product(self.rows, [element(i, j) for i in range(high)])
            for i, value in enumerate(turned):
                emit.store(self.between, value, [i, j * lanes], lanes)
        with emit.serial(len(self.rows), "i") as i:
            row = [
                emit.bind("value", emit.load(self.between, [i, j * lanes], lanes))
                for j in range(len(self.columns[0]))
            ]
            for j, value in enumerate(product(self.columns, row)):
                store(i, j, value)


def is_straight(rows: Matrix, columns: Matrix) -> bool:
    """Whether a transform in memory is straight-line code, not loops."""
    return all_operations(rows, columns) <= _MOST_STRAIGHT


def all_operations(rows: Matrix, columns: Matrix) -> int:
    """How many operations ``transform`` takes."""
    return len(columns[0]) * operations(rows) + len(rows) * operations(columns)


@cache
def operations(matrix: Matrix) -> int:
    """How many additions, multiplications and multiply-adds ``product`` takes."""
    paired = _pair_columns(matrix)
    if paired is not None:
        return 2 + operations(paired[2])
    count, done = 0, set[int]()
    for i, k, even, odd in _pair_rows(matrix):
        scale = _common_factor(odd)
        part = tuple(value / scale for value in odd)
        count += 2 + _operations_combined(even) + _operations_combined(part)
        done |= {i, k}
    return count + sum(_operations_combined(row) for i, row in enumerate(matrix) if i not in done)


def _operations_combined(row: Row) -> int:
    terms = [value for value in row if value]
    # A factor of all terms is taken out; of others, that of the first is not part of an addition.
    plain = any(abs(value) == 1 for value in terms)
    return len(terms) - 1 + (_common_factor(row) != 1 or not plain)


def flat(square: Sequence[Sequence[Any]]) -> list[Any]:
    """The values, row by row."""
    return [value for row in square for value in row]


def product(matrix: Matrix, values: Sequence[Any], keep: Keep = emit.bind) -> list[Any]:
    """``matrix @ values``, with what rows or columns have in common computed once."""
    paired = _pair_columns(matrix)
    if paired is None:
        return _rows(matrix, values, keep)
    j, k, reduced = paired
    rest = [value for i, value in enumerate(values) if i not in (j, k)]
    total = keep("total", values[j] + values[k])
    difference = keep("difference", values[j] - values[k])
    return product(reduced, [*rest, total, difference], keep)


@cache
def _pair_columns(matrix: Matrix) -> tuple[int, int, Matrix] | None:
    """Two columns that are the same but for some signs, and the matrix over their sum and
    difference in their place; None where there are none."""
    for j, k in combinations(range(len(matrix[0])), 2):
        pairs = [(row[j], row[k]) for row in matrix if row[j] or row[k]]
        alike = all(abs(a) == abs(b) for a, b in pairs)
        # Of two terms, the sum and the difference cost as much either way.
        if alike and len(pairs) > 2 and len({a == b for a, b in pairs}) == 2:
            return j, k, tuple(_with_sum(row, j, k) for row in matrix)
    return None


def _with_sum(row: Row, j: int, k: int) -> Row:
    rest = [value for i, value in enumerate(row) if i not in (j, k)]
    return (*rest, (row[j] + row[k]) / 2, (row[j] - row[k]) / 2)


def _rows(matrix: Matrix, values: Sequence[Any], keep: Keep) -> list[Any]:
    """The rows' sums; of two rows e + o and e - o, the terms e and o are summed once."""
    results: list[Any] = [None] * len(matrix)
    for i, k, even, odd in _pair_rows(matrix):
        results[i], results[k] = _sum_and_difference(even, odd, values, keep)
    for i, row in enumerate(matrix):
        if results[i] is None:
            results[i] = _combined(row, values, keep)
    return results


@cache
def _pair_rows(matrix: Matrix) -> list[tuple[int, int, Row, Row]]:
    """Pairs of rows that are e + o and e - o, where e and o have no term in common."""
    found: list[tuple[int, int, Row, Row]] = []
    for i, k in combinations(range(len(matrix)), 2):
        pair = list(zip(matrix[i], matrix[k], strict=True))
        even = tuple((a + b) / 2 for a, b in pair)
        odd = tuple((a - b) / 2 for a, b in pair)
        apart = 0 < _terms(even) < _terms(even) + _terms(odd) == _terms(matrix[i])
        # Of two terms, the sum and the difference cost as much either way.
        if apart and _terms(matrix[i]) > 2 and not any({i, k} & {m, n} for m, n, *_ in found):
            found.append((i, k, even, odd))
    return found


def _sum_and_difference(even: Row, odd: Row, values: Sequence[Any], keep: Keep) -> tuple[Any, Any]:
    scale = _common_factor(odd)
    shared = _combined(even, values, keep)
    part = _combined(tuple(value / scale for value in odd), values, keep)
    if scale == 1:
        return keep("value", shared + part), keep("value", shared - part)
    factor = _constant(scale, part)
    return keep("value", shared + factor * part), keep("value", shared - factor * part)


def _common_factor(row: Row) -> Fraction:
    """What all terms can be divided by to leave 1 or -1; 1 where there is no such number."""
    sizes = {abs(value) for value in row}
    sizes.discard(Fraction(0))
    if len(sizes) > 1:
        return Fraction(1)
    return sizes.pop() if any(value > 0 for value in row) else -sizes.pop()


def _terms(row: Row) -> int:
    return sum(value != 0 for value in row)


def _combined(row: Row, values: Sequence[Any], keep: Keep) -> Any:
    """The sum of the row's terms: those of factor 1 first, so that the others become FMAs."""
    scale = _common_factor(row)
    if scale != 1 and _terms(row) > 1:
        part = _combined(tuple(value / scale for value in row), values, keep)
        return keep("value", _constant(scale, part) * part)
    terms = [(c, v) for c, v in zip(row, values, strict=True) if c]
    terms.sort(key=lambda term: (abs(term[0]) != 1, term[0] < 0))
    (first, value), *rest = terms
    result = value if first == 1 else _constant(first, value) * value
    for factor, value in rest:
        if factor == 1:
            result = result + value
        elif factor == -1:
            result = result - value
        else:
            result = result + _constant(factor, value) * value
    return result if len(terms) == 1 and first == 1 else keep("value", result)


def _constant(factor: Fraction, like: Any) -> Any:
    dtype = like.ty.dtype
    return emit.constant(float(factor), str(dtype.with_lanes(1)), dtype.lanes)
