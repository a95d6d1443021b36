"""The base of all parameters: numbered values, and a graph over them.

The graph is the topology of OpEvo, section 3: adjacent values are expected to be similarly fast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from tunesmith.errors import SpaceError
from tunesmith.space.columns import Array, Column, column_of
from tunesmith.space.value import Value, quote, value_to_json

_WORD = 1 << 63


def uniform_below(bound: int, rng: np.random.Generator) -> int:
    """A uniform integer in [0, bound), for a bound of any size."""
    if bound <= _WORD:
        return int(rng.integers(bound))
    bits = bound.bit_length()
    while True:
        draw = int.from_bytes(rng.bytes((bits + 7) // 8)) >> (-bits % 8)
        if draw < bound:
            return draw


def place_below(count: int, rng: np.random.Generator) -> int:
    """A uniform index below ``count``, several times as fast as ``Generator.integers``.

    Probabilities differ by less than count / 2^53; the product never rounds up to ``count``.
    """
    return int(rng.random() * count)


@dataclass(frozen=True)
class Parameter(ABC):
    """One choice of a space. Its values are numbered 0 … cardinality - 1.

    Methods that take a value raise SpaceError for one that the parameter does not have.
    """

    name: str

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SpaceError(
                f"{quote(self.name)} is not a parameter's name: use a non-empty string"
            )

    @property
    @abstractmethod
    def cardinality(self) -> int:
        """The number of values, computed without enumerating them."""

    @property
    @abstractmethod
    def expectation(self) -> str:
        """The valid values, in words that complete an error message."""

    @property
    @abstractmethod
    def encoded_names(self) -> tuple[str, ...]:
        """One name for each feature of ``encode``."""

    @abstractmethod
    def contains(self, value: object) -> bool:
        """Whether this is one of the values. 1, 1.0 and True are three different values."""

    @abstractmethod
    def value_at(self, index: int) -> Value:
        """The value with this number. Raises SpaceError outside 0 … cardinality - 1."""

    @abstractmethod
    def index_of(self, value: Value) -> int:
        """The number of this value: the inverse of ``value_at``."""

    @abstractmethod
    def neighbours(self, value: Value) -> list[Value]:
        """The adjacent values, each once, never ``value`` itself (OpEvo, section 3)."""

    @abstractmethod
    def distance(self, a: Value, b: Value) -> int:
        """The number of edges on a shortest path from ``a`` to ``b``."""

    @abstractmethod
    def encode(self, value: Value) -> tuple[float, ...]:
        """Numeric features, the same number for every value."""

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dictionary with the parameter's ``kind`` and fields."""
        state = self.__getstate__()
        return {"kind": self.kind, **{name: value_to_json(state[name]) for name in state}}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``. Raises SpaceError for missing or wrong fields."""
        names = [field.name for field in fields(cls)]
        for name in names:
            if name not in obj:
                raise SpaceError(f"parameter {quote(obj.get('name'))} lacks the field '{name}'")
        return cls(**{name: obj[name] for name in names})

    def sample(self, rng: np.random.Generator) -> Value:
        """One value, all equally likely."""
        return self.value_at(uniform_below(self.cardinality, rng))

    def random_walk(self, value: Value, q: float, rng: np.random.Generator) -> Value:
        """The end of a random walk from ``value`` (OpEvo, section 4.3, equation 3).

        At every vertex the walk continues with probability ``q``, to a uniformly chosen neighbour,
        and stops with probability 1 - q. Raises SpaceError unless 0 <= q < 1.
        """
        if not 0 <= q < 1:
            raise SpaceError(f"random walk: q is {q}: it has to be at least 0 and less than 1")
        self.check(value)
        while rng.random() < q and self.cardinality > 1:
            value = self._random_neighbour(value, rng)
        return value

    def _random_neighbour(self, value: Value, rng: np.random.Generator) -> Value:
        """A uniformly chosen neighbour of a value that has some.

        The built-in kinds draw it without listing all: evolution spends most of its time here.
        """
        around = self.neighbours(value)
        return around[place_below(len(around), rng)]

    def columns(self, indices: Array) -> Column:
        """The values with these numbers, as arrays on which constraints are evaluated."""
        return column_of([self.value_at(index) for index in indices.tolist()])

    def check(self, value: object) -> None:
        """Raises SpaceError, naming the parameter, unless ``value`` is one of its values."""
        if not self.contains(value):
            raise SpaceError(
                f"parameter '{self.name}' has no value {quote(value)}: give {self.expectation}"
            )

    def plain_index(self, index: int) -> int:
        """``index`` as Python's own int. Raises SpaceError outside 0 … cardinality - 1."""
        if not 0 <= index < self.cardinality:
            raise SpaceError(
                f"parameter '{self.name}' has no value number {quote(index)}: "
                f"give one of 0 to {self.cardinality - 1}"
            )
        return int(index)

    def __getstate__(self) -> dict[str, Any]:
        # Only the fields, without cached properties.
        return {field.name: getattr(self, field.name) for field in fields(self)}
