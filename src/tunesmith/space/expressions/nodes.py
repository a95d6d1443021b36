"""The nodes of an expression, evaluated on one config or on columns of many.

``scalar`` defines the meaning of an expression: Python's. ``column`` gives the same result for many
rows at once, or raises ``NotColumnwiseError`` (or what NumPy raises) if arrays might give another
one; the caller then evaluates row by row. ``bound`` is the largest absolute value of a node, which
tells whether 64-bit integers suffice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.space.columns import Frame
from tunesmith.space.expressions import operations
from tunesmith.space.value import Value


class Node(ABC):
    """A node of an expression. The caller turns what ``scalar`` raises into a SpaceError."""

    def parts(self) -> tuple[Node, ...]:
        """The child nodes."""
        return ()

    @abstractmethod
    def scalar(self, scope: Mapping[str, Value]) -> Any:
        """The value for one config."""

    @abstractmethod
    def column(self, frame: Frame) -> Any:
        """The values of all rows: an array, a scalar that applies to all, or a tuple of these."""

    @abstractmethod
    def bound(self, bounds: Mapping[str, float]) -> float:
        """The largest absolute value, given those of the names."""

    @property
    def names(self) -> frozenset[str]:
        """The parameters that this node reads."""
        return frozenset().union(*(part.names for part in self.parts()))


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
    """A literal tuple or list, such as the right side of ``in``."""

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
        return -operations.number(self.operand.scalar(scope))

    def column(self, frame: Frame) -> Any:
        return -operations.numbers(self.operand.column(frame))

    def bound(self, bounds: Mapping[str, float]) -> float:
        return self.operand.bound(bounds)


@dataclass(frozen=True)
class Arithmetic(Node):
    """``left symbol right`` on numbers only: Python would also repeat strings and tuples."""

    symbol: str
    left: Node
    right: Node

    def parts(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        return operations.compute(self.symbol, self.left.scalar(scope), self.right.scalar(scope))

    def column(self, frame: Frame) -> Any:
        left, right = self.left.column(frame), self.right.column(frame)
        return operations.compute_columns(self.symbol, left, right)

    def bound(self, bounds: Mapping[str, float]) -> float:
        return operations.exact_bound(
            self.symbol, self.left.bound(bounds), self.right.bound(bounds)
        )


@dataclass(frozen=True)
class Comparison(Node):
    """A chain of comparisons (``a < b <= c``), which may include ``in`` and ``not in``."""

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def parts(self) -> tuple[Node, ...]:
        return (self.first, *(node for _, node in self.rest))

    def scalar(self, scope: Mapping[str, Value]) -> Any:
        left = self.first.scalar(scope)
        for symbol, node in self.rest:
            right = node.scalar(scope)
            if not operations.compare(symbol, left, right):
                return False
            left = right
        return True

    def column(self, frame: Frame) -> Any:
        left = self.first.column(frame)
        holds: Any = True
        for symbol, node in self.rest:
            right = node.column(frame)
            holds = holds & operations.compare_columns(symbol, left, right)
            left = right
        return holds

    def bound(self, bounds: Mapping[str, float]) -> float:
        for operand in self.parts():
            operand.bound(bounds)
        return 1.0


@dataclass(frozen=True)
class Logic(Node):
    """``and`` (``all_of``) or ``or`` of two or more operands, with short circuit."""

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
        value = operations.broadcast(self.operands[0].column(frame), frame.rows)
        for operand in self.operands[1:]:
            undecided = operations.truth(value) == self.all_of
            if not undecided.any():
                break
            part = operations.broadcast(operand.column(frame.where(undecided, operand.names)), None)
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
        return ~operations.truth(operations.broadcast(self.operand.column(frame), frame.rows))

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
        return operations.call(self.function, [item.scalar(scope) for item in self.operands])

    def column(self, frame: Frame) -> Any:
        return operations.call_columns(
            self.function, [item.column(frame) for item in self.operands]
        )

    def bound(self, bounds: Mapping[str, float]) -> float:
        if self.function == "len":
            raise operations.NotColumnwiseError  # a column's length is not that of its values
        return max(operand.bound(bounds) for operand in self.operands)
