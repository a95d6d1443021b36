"""The operations of expressions, on single values and on columns.

Functions on columns give Python's result for every row, or raise NotColumnwiseError.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from functools import reduce
from operator import pow as power
from typing import Any

import numpy as np

from tunesmith.space.columns import LARGEST_EXACT, Array
from tunesmith.space.value import quote

MAX_EXPONENT = 64
_MAX_POWER_BITS = 1024


class NotColumnwiseError(Exception):
    """Arrays cannot evaluate this node exactly as Python does."""


Binary = Callable[[Any, Any], Any]

FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "len": len, "max": max, "min": min}

ARITHMETIC: dict[type[ast.operator], Binary] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: power,
}


def _in(item: Any, among: Any) -> bool:
    return item in among


def _not_in(item: Any, among: Any) -> bool:
    return item not in among


COMPARISONS: dict[type[ast.cmpop], Binary] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: _in,
    ast.NotIn: _not_in,
}


def broadcast(value: Any, rows: int | None) -> Array:
    """``value`` as an array; a scalar is repeated ``rows`` times."""
    if isinstance(value, tuple):
        raise NotColumnwiseError
    array = np.asarray(value, dtype=object if isinstance(value, str) else None)
    return array if rows is None else np.broadcast_to(array, rows)


def compute(function: Binary, left: Any, right: Any) -> Any:
    """An arithmetic function of two numbers.

    Raises TypeError for anything else (Python would repeat or format a string), OverflowError for a
    power that would take long to compute, and ValueError for a complex result.
    """
    left, right = number(left), number(right)
    if function is power:
        bits = left.bit_length() * abs(right) if isinstance(left, int) else 0
        if abs(right) > MAX_EXPONENT or bits > _MAX_POWER_BITS:
            raise OverflowError("a power too large to compute")
    result = function(left, right)
    if isinstance(result, complex):
        raise ValueError("a root of a negative number")
    return result


def compute_columns(function: Binary, left: Any, right: Any) -> Any:
    """``compute``, row by row. Integers must be within ``exact_bound``."""
    left, right = numbers(left), numbers(right)
    if function is power and not (_integral(left) and _integral(right)):
        raise NotColumnwiseError  # NumPy's powers of fractions may differ in the last bit
    return function(left, right)


def exact_bound(function: Binary, left: float, right: float) -> float:
    """The largest absolute value of a result, given those of its operands.

    Raises NotColumnwiseError if integers could exceed the range that arrays hold exactly.
    """
    if function in (operator.add, operator.sub):
        return exact(left + right)
    if function is operator.mul:
        return exact(left * right)
    if function is power:
        return exact(max(left, 1.0) ** right if right <= MAX_EXPONENT else math.inf)
    # A remainder is smaller than its divisor, and a quotient of integers at most its dividend. A
    # quotient of fractions may be larger, but is a float and cannot overflow.
    return max(left, right)


def exact(bound: float) -> float:
    """``bound``; raises NotColumnwiseError if arrays do not hold such integers exactly."""
    if bound > LARGEST_EXACT:
        raise NotColumnwiseError
    return bound


def compare_columns(function: Binary, left: Any, right: Any) -> Any:
    """A comparison, row by row; tuples of columns compare as tuples."""
    if function in (_in, _not_in):
        if isinstance(left, tuple) or not isinstance(right, tuple):
            raise NotColumnwiseError
        found = reduce(operator.or_, (_equal(left, item) for item in right), False)
        return found if function is _in else np.logical_not(found)
    if function in (operator.eq, operator.ne):
        equal = _equal(left, right)
        return equal if function is operator.eq else np.logical_not(equal)
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise NotColumnwiseError
    return function(left, right)


def call_columns(function: Callable[..., Any], values: list[Any]) -> Any:
    """A call of ``abs``, ``max`` or ``min``, row by row."""
    if function is abs:
        return abs(numbers(values[0]))
    several = values[0] if len(values) == 1 else values
    pick = np.minimum if function is min else np.maximum
    return reduce(pick, [numbers(value) for value in several])


def numbers(value: Any) -> Any:
    """``value`` for arithmetic: booleans become 0 and 1."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            raise NotColumnwiseError
        return value.astype(np.int64) if value.dtype.kind == "b" else value
    if not isinstance(value, int | float):
        raise NotColumnwiseError
    return value


def number(value: Any) -> Any:
    """``value``. Raises TypeError if it is not a number."""
    if isinstance(value, int | float):
        return value
    raise TypeError(f"arithmetic on {quote(value)}, which is not a number")


def _integral(value: Any) -> bool:
    return value.dtype.kind == "i" if isinstance(value, np.ndarray) else isinstance(value, int)


def _equal(left: Any, right: Any) -> Any:
    if isinstance(left, tuple) != isinstance(right, tuple):
        other = right if isinstance(left, tuple) else left
        if isinstance(other, np.ndarray) and other.dtype.kind == "O":
            raise NotColumnwiseError  # some of the rows may be tuples
        return False
    if not isinstance(left, tuple):
        return left == right
    if len(left) != len(right):
        return False
    return reduce(operator.and_, map(_equal, left, right), True)
