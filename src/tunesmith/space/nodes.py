"""The parts of an expression, each evaluated on one config or on columns of many.

``scalar`` defines what an expression means: what Python means by it. ``column`` gives the same for
many rows at once, or raises ``NotColumnwiseError`` (or whatever NumPy raises) where arrays cannot
be trusted to agree; the caller then goes row by row. ``bound`` is the largest absolute value that
a part can take, which tells whether 64-bit integers suffice.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tunesmith.space.columns import LARGEST_EXACT, Array, Frame
from tunesmith.space.value import Value

MAX_EXPONENT = 64
MAX_POWER_BITS = 1024


class NotColumnwiseError(Exception):
    """Arrays cannot evaluate this part exactly as Python would."""


class Node(ABC):
    """A part of an expression. What ``scalar`` raises is turned into a SpaceError by its caller."""

    @abstractmethod
    def parts(self) -> tuple[Node, ...]:
        """The nodes that this one is made of."""

    @abstractmethod
    def scalar(self, scope: Mapping[str, Value]) -> Any:
        """The value for one config."""

    @abstractmethod
    def column(self, frame: Frame) -> Any:
        """The values for all rows: an array, a scalar that holds for all, or a tuple of these."""

    @abstractmethod
    def bound(self, bounds: Mapping[str, float]) -> float:
        """The largest absolute value, given that of each name."""

    @property
    def names(self) -> frozenset[str]:
        """The parameters that this part reads."""
        return frozenset().union(*(part.names for part in self.parts()))


@dataclass(frozen=True)
class Literal(Node):
    """A number, a string, True or False."""

    value: int | float | str

    def parts(self) -> tuple[Node, ...]:
        return ()

    def scalar(self, scope: Mapping[str, Value]) -> Any:  # noqa: ARG002
        return self.value

    def column(self, frame: Frame) -> Any:  # noqa: ARG002
        return self.value

    def bound(self, bounds: Mapping[str, float]) -> float:  # noqa: ARG002
        return 0.0 if isinstance(self.value, str) else _small(float(abs(self.value)))


@dataclass(frozen=True)
class Name(Node):
    """A parameter's value."""

    name: str

    def parts(self) -> tuple[Node, ...]:
        return ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.name,))

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return scope[self.name]

    def column(self, frame: Frame) -> Any:
        return frame.columns[self.name]

    def bound(self, bounds: Mapping[str, float]) -> float:
        return bounds[self.name]


@dataclass(frozen=True)
class Part(Node):
    """One part of a tuple parameter: ``tile[2]``."""

    owner: Name
    index: int

    def parts(self) -> tuple[Node, ...]:
        return (self.owner,)

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return self._part(self.owner.scalar(scope))

    def column(self, frame: Frame) -> Any:
        return self._part(self.owner.column(frame))

    def _part(self, whole: Any) -> Any:
        if not isinstance(whole, tuple):
            raise TypeError(f"'{self.owner.name}' has no parts")
        if not -len(whole) <= self.index < len(whole):
            raise IndexError(f"'{self.owner.name}' has {len(whole)} parts, none is [{self.index}]")
        return whole[self.index]

    def bound(self, bounds: Mapping[str, float]) -> float:
        return self.owner.bound(bounds)


@dataclass(frozen=True)
class Sequence(Node):
    """A tuple or list written out, such as the right side of ``in``."""

    operands: tuple[Node, ...]

    def parts(self) -> tuple[Node, ...]:
        return self.operands

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return tuple(operand.scalar(scope) for operand in self.operands)

    def column(self, frame: Frame) -> Any:
        return tuple(operand.column(frame) for operand in self.operands)

    def bound(self, bounds: Mapping[str, float]) -> float:
        return max((operand.bound(bounds) for operand in self.operands), default=0.0)


@dataclass(frozen=True)
class Negative(Node):
    """``-x``."""

    operand: Node

    def parts(self) -> tuple[Node, ...]:
        return (self.operand,)

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return -_number(self.operand.scalar(scope))

    def column(self, frame: Frame) -> Any:
        return -_numbers(self.operand.column(frame))

    def bound(self, bounds: Mapping[str, float]) -> float:
        return self.operand.bound(bounds)


@dataclass(frozen=True)
class Arithmetic(Node):
    """``left symbol right`` on numbers only: Python would repeat a string, and a tuple."""

    symbol: str
    left: Node
    right: Node

    def parts(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        left, right = _number(self.left.scalar(scope)), _number(self.right.scalar(scope))
        return _power(left, right) if self.symbol == "**" else _OPERATIONS[self.symbol](left, right)

    def column(self, frame: Frame) -> Any:
        left, right = _numbers(self.left.column(frame)), _numbers(self.right.column(frame))
        if self.symbol == "**" and not (_integral(left) and _integral(right)):
            raise NotColumnwiseError  # NumPy's power may differ from Python's in the last bit
        return _OPERATIONS[self.symbol](left, right)

    def bound(self, bounds: Mapping[str, float]) -> float:
        left, right = self.left.bound(bounds), self.right.bound(bounds)
        if self.symbol in "+-":
            return _small(left + right)
        if self.symbol == "*":
            return _small(left * right)
        if self.symbol == "**":
            return _small(max(left, 1.0) ** min(right, MAX_EXPONENT + 1))
        # A remainder is smaller than its divisor; a quotient of integers than its dividend. A
        # quotient of fractions may be larger, but is itself no integer that could overflow.
        return max(left, right)


@dataclass(frozen=True)
class Comparison(Node):
    """A chain of comparisons, ``a < b <= c``, ``in`` and ``not in`` among them."""

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def parts(self) -> tuple[Node, ...]:
        return (self.first, *(node for _, node in self.rest))

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        left = self.first.scalar(scope)
        for symbol, node in self.rest:
            right = node.scalar(scope)
            if not _COMPARISONS[symbol](left, right):
                return False
            left = right
        return True

    def column(self, frame: Frame) -> Any:
        left = self.first.column(frame)
        holds: Any = True
        for symbol, node in self.rest:
            right = node.column(frame)
            holds = holds & _compare_columns(symbol, left, right)
            left = right
        return holds

    def bound(self, bounds: Mapping[str, float]) -> float:
        for operand in self.parts():
            operand.bound(bounds)
        return 1.0


@dataclass(frozen=True)
class Logic(Node):
    """``and`` (``all_of``) or ``or`` of two or more parts; later ones only where they decide."""

    all_of: bool
    operands: tuple[Node, ...]

    def parts(self) -> tuple[Node, ...]:
        return self.operands

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        value: Any = None
        for operand in self.operands:
            value = operand.scalar(scope)
            if bool(value) is not self.all_of:
                break
        return value

    def column(self, frame: Frame) -> Any:
        value = broadcast(self.operands[0].column(frame), frame.rows)
        for operand in self.operands[1:]:
            undecided = truth(value) == self.all_of
            if not undecided.any():
                break
            part = broadcast(operand.column(frame.where(undecided, operand.names)), None)
            value = value.astype(np.result_type(value, part))
            value[undecided] = part
        return value

    def bound(self, bounds: Mapping[str, float]) -> float:
        return max(operand.bound(bounds) for operand in self.operands)


@dataclass(frozen=True)
class Not(Node):
    """``not x``."""

    operand: Node

    def parts(self) -> tuple[Node, ...]:
        return (self.operand,)

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return not self.operand.scalar(scope)

    def column(self, frame: Frame) -> Any:
        return ~truth(broadcast(self.operand.column(frame), frame.rows))

    def bound(self, bounds: Mapping[str, float]) -> float:
        self.operand.bound(bounds)
        return 1.0


@dataclass(frozen=True)
class Call(Node):
    """``abs``, ``len``, ``max`` or ``min``."""

    function: str
    operands: tuple[Node, ...]

    def parts(self) -> tuple[Node, ...]:
        return self.operands

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        values = [operand.scalar(scope) for operand in self.operands]
        return FUNCTIONS[self.function](*values)

    def column(self, frame: Frame) -> Any:
        values = [operand.column(frame) for operand in self.operands]
        if self.function == "len":
            if isinstance(values[0], tuple):
                return len(values[0])
            raise NotColumnwiseError
        if self.function == "abs":
            return abs(_numbers(values[0]))
        several = values[0] if len(values) == 1 else values
        pick = np.minimum if self.function == "min" else np.maximum
        return reduce(pick, [_numbers(value) for value in several])

    def bound(self, bounds: Mapping[str, float]) -> float:
        if self.function == "len":
            return 0.0
        return max((operand.bound(bounds) for operand in self.operands), default=0.0)


FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "len": len, "max": max, "min": min}

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, among: item in among,
    "not in": lambda item, among: item not in among,
}


def broadcast(value: Any, rows: int | None) -> Array:
    """The value as an array, repeated ``rows`` times if it is a scalar that holds for all rows."""
    if isinstance(value, tuple):
        raise NotColumnwiseError
    array = np.asarray(value, dtype=object if isinstance(value, str) else None)
    return array if rows is None else np.broadcast_to(array, rows)


def truth(value: Array) -> Array:
    """What Python's ``bool`` gives for each row."""
    return value.astype(bool)


def _number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    raise TypeError(f"arithmetic on {value!r:.40}, which is no number")


def _numbers(value: Any) -> Any:
    """The column for arithmetic: comparisons' results count as 0 and 1."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            raise NotColumnwiseError
        return value.astype(np.int64) if value.dtype.kind == "b" else value
    if not isinstance(value, int | float):
        raise NotColumnwiseError
    return value


def _integral(value: Any) -> bool:
    return value.dtype.kind == "i" if isinstance(value, np.ndarray) else isinstance(value, int)


def _power(base: int | float, exponent: int | float) -> int | float:
    huge = isinstance(base, int) and base.bit_length() * abs(exponent) > MAX_POWER_BITS
    if abs(exponent) > MAX_EXPONENT or huge:
        raise OverflowError("a power too large to compute")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a root of a negative number")
    return result


def _small(bound: float) -> float:
    if bound > LARGEST_EXACT:
        raise NotColumnwiseError
    return bound


def _compare_columns(symbol: str, left: Any, right: Any) -> Any:
    if symbol in ("in", "not in"):
        if isinstance(left, tuple) or not isinstance(right, tuple):
            raise NotColumnwiseError
        found = reduce(operator.or_, (_equal(left, item) for item in right), False)
        return found if symbol == "in" else np.logical_not(found)
    if symbol in ("==", "!="):
        equal = _equal(left, right)
        return equal if symbol == "==" else np.logical_not(equal)
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise NotColumnwiseError
    return _COMPARISONS[symbol](left, right)


def _equal(left: Any, right: Any) -> Any:
    if isinstance(left, tuple) != isinstance(right, tuple):
        return False
    if not isinstance(left, tuple):
        return left == right
    if len(left) != len(right):
        return False
    return reduce(operator.and_, map(_equal, left, right), True)
