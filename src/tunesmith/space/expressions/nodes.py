"""The nodes of an expression, evaluated on one config or on columns of many.

``scalar`` defines the meaning of an expression: Python's. ``column`` gives the same result for many
rows at once, or raises ``NotColumnwiseError`` (or what NumPy raises) if arrays might give another
one; the caller then evaluates row by row. ``bound`` is the largest absolute value of a node, which
tells whether 64-bit integers suffice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.space.columns import Frame
from tunesmith.space.expressions import operations
from tunesmith.space.value import Value


@dataclass(frozen=True)
class Node(ABC):
    """A node of an expression. The caller turns what ``scalar`` raises into a SpaceError."""

    operands: tuple[Node, ...] = field(default=(), kw_only=True)

    @abstractmethod
    def scalar(self, scope: Mapping[str, Value]) -> Any:
        """The value for one config."""

    @abstractmethod
    def column(self, frame: Frame) -> Any:
        """The values of all rows: an array, a scalar that applies to all, or a tuple of these."""

    def bound(self, bounds: Mapping[str, float]) -> float:
        """The largest absolute value, given those of the names."""
        return max((operand.bound(bounds) for operand in self.operands), default=0.0)

    @property
    def names(self) -> frozenset[str]:
        """The parameters that this node reads."""
        return frozenset().union(*(operand.names for operand in self.operands))


@dataclass(frozen=True)
class Literal(Node):
    """A number, a string, True or False."""

    value: int | float | str

    def scalar(self, scope: Mapping[str, Value]) -> Any:  # noqa: ARG002
        return self.value

    def column(self, frame: Frame) -> Any:  # noqa: ARG002
        return self.value

    def bound(self, bounds: Mapping[str, float]) -> float:  # noqa: ARG002
        return 0.0 if isinstance(self.value, str) else operations.exact(float(abs(self.value)))


@dataclass(frozen=True)
class Name(Node):
    """A parameter's value."""

    name: str

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
class Part(Name):
    """One part of a tuple parameter: ``tile[2]``."""

    index: int

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return self._part(scope[self.name])

    def column(self, frame: Frame) -> Any:
        return self._part(frame.columns[self.name])

    def _part(self, whole: Any) -> Any:
        if not isinstance(whole, tuple):
            raise TypeError(f"'{self.name}' has no parts")
        if not -len(whole) <= self.index < len(whole):
            raise IndexError(f"'{self.name}' has {len(whole)} parts, none is [{self.index}]")
        return whole[self.index]


@dataclass(frozen=True)
class Sequence(Node):
    """A literal tuple or list, such as the right side of ``in``."""

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return tuple(operand.scalar(scope) for operand in self.operands)

    def column(self, frame: Frame) -> Any:
        return tuple(operand.column(frame) for operand in self.operands)


@dataclass(frozen=True)
class Arithmetic(Node):
    """A function of ``operations.ARITHMETIC`` on two numbers."""

    function: operations.Binary

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        left, right = self.operands
        return operations.compute(self.function, left.scalar(scope), right.scalar(scope))

    def column(self, frame: Frame) -> Any:
        left, right = self.operands
        return operations.compute_columns(self.function, left.column(frame), right.column(frame))

    def bound(self, bounds: Mapping[str, float]) -> float:
        left, right = self.operands
        return operations.exact_bound(self.function, left.bound(bounds), right.bound(bounds))


@dataclass(frozen=True)
class Comparison(Node):
    """A chain of comparisons (``a < b <= c``), which may include ``in`` and ``not in``.

    ``links`` has a function of ``operations.COMPARISONS`` with each operand after the first.
    """

    links: tuple[tuple[operations.Binary, Node], ...]

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        left = self.operands[0].scalar(scope)
        for function, operand in self.links:
            right = operand.scalar(scope)
            if not function(left, right):
                return False
            left = right
        return True

    def column(self, frame: Frame) -> Any:
        left = self.operands[0].column(frame)
        holds: Any = True
        for function, operand in self.links:
            right = operand.column(frame)
            holds = holds & operations.compare_columns(function, left, right)
            left = right
        return holds

    def bound(self, bounds: Mapping[str, float]) -> float:
        super().bound(bounds)
        return 1.0


@dataclass(frozen=True)
class Logic(Node):
    """``and`` (``all_of``) or ``or`` of two or more operands, with short circuit."""

    all_of: bool

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        value: Any = None
        for operand in self.operands:
            value = operand.scalar(scope)
            if bool(value) is not self.all_of:
                break
        return value

    def column(self, frame: Frame) -> Any:
        value = operations.broadcast(self.operands[0].column(frame), frame.rows)
        for operand in self.operands[1:]:
            undecided = value.astype(bool) == self.all_of
            if not undecided.any():
                break
            part = operations.broadcast(operand.column(frame.where(undecided, operand.names)), None)
            value = value.astype(np.result_type(value, part))
            value[undecided] = part
        return value


@dataclass(frozen=True)
class Not(Node):
    """``not x``."""

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return not self.operands[0].scalar(scope)

    def column(self, frame: Frame) -> Any:
        return ~operations.broadcast(self.operands[0].column(frame), frame.rows).astype(bool)

    def bound(self, bounds: Mapping[str, float]) -> float:
        super().bound(bounds)
        return 1.0


@dataclass(frozen=True)
class Call(Node):
    """A function of ``operations.FUNCTIONS``."""

    function: Callable[..., Any]

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return self.function(*(operand.scalar(scope) for operand in self.operands))

    def column(self, frame: Frame) -> Any:
        values = [operand.column(frame) for operand in self.operands]
        return operations.call_columns(self.function, values)

    def bound(self, bounds: Mapping[str, float]) -> float:
        if self.function is len:
            raise operations.NotColumnwiseError  # a column's length is not that of its values
        return super().bound(bounds)
