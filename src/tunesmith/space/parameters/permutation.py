"""Permutations, such as the order of nested loops (OpEvo, section 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from tunesmith.errors import SpaceError
from tunesmith.space.parameters.parameter import Parameter, place_below
from tunesmith.space.value import Value, as_values, identity, quote

MAX_ITEMS = 64


@dataclass(frozen=True)
class Permutation(Parameter):
    """The permutations of ``items``: distinct ints, floats or strings.

    Two are adjacent if swapping two items turns one into the other. A value's number is its Lehmer
    code; number 0 is the order in which the items were given. Raises SpaceError for no items, equal
    ones, more than 64, or tuples.
    """

    items: Sequence[int | float | str]

    kind: ClassVar[str] = "permutation"

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = f"permutation '{self.name}'"
        items = as_values(self.items, owner, "items")
        if len(items) > MAX_ITEMS:
            raise SpaceError(f"{owner} has {len(items)} items: give at most {MAX_ITEMS}")
        for item in items:
            if isinstance(item, tuple):
                raise SpaceError(f"{owner}: {quote(item)} is not an item: use a number or a string")
        object.__setattr__(self, "items", items)

    @property
    def cardinality(self) -> int:
        return math.factorial(len(self.items))

    @cached_property
    def _places(self) -> dict[object, int]:
        return {identity(item): place for place, item in enumerate(self.items)}

    @property
    def expectation(self) -> str:
        return f"an order of {quote(self.items)}"

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return tuple(f"place of {item} in {self.name}" for item in self.items)

    def contains(self, value: object) -> bool:
        if type(value) is not tuple or len(value) != len(self.items):
            return False
        try:
            return {identity(item) for item in value} == self._places.keys()
        except TypeError:  # not hashable
            return False

    def value_at(self, index: int) -> tuple[int | float | str, ...]:
        index = self.plain_index(index)
        left = list(self.items)
        order = []
        for remaining in range(len(left) - 1, -1, -1):
            digit, index = divmod(index, math.factorial(remaining))
            order.append(left.pop(digit))
        return tuple(order)

    def index_of(self, value: Value) -> int:
        order = self._order(value)
        index = 0
        for position, place in enumerate(order):
            smaller = sum(later < place for later in order[position + 1 :])
            index = index * (len(order) - position) + smaller
        return index

    def _order(self, value: Value) -> list[int]:
        """For each position, the index of its item in ``items``."""
        self.check(value)
        assert isinstance(value, tuple)
        return [self._places[identity(item)] for item in value]

    def neighbours(self, value: Value) -> list[Value]:
        self.check(value)
        assert isinstance(value, tuple)
        found: list[Value] = []
        for i, j in combinations(range(len(value)), 2):
            swapped = list(value)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            found.append(tuple(swapped))
        return found

    def _random_neighbour(self, value: Value, rng: np.random.Generator) -> Value:
        assert isinstance(value, tuple)
        swapped = list(value)
        i = place_below(len(swapped), rng)
        j = place_below(len(swapped) - 1, rng)
        j += j >= i
        swapped[i], swapped[j] = swapped[j], swapped[i]
        return tuple(swapped)

    def distance(self, a: Value, b: Value) -> int:
        """The number of items minus that of cycles of the permutation from ``a`` to ``b``."""
        onward = dict(zip(self._order(a), self._order(b), strict=True))
        cycles = 0
        while onward:
            start, place = onward.popitem()
            while place != start:
                place = onward.pop(place)
            cycles += 1
        return len(self.items) - cycles

    def encode(self, value: Value) -> tuple[float, ...]:
        """The position of each item, in the order in which the items were given."""
        order = self._order(value)
        positions = [0.0] * len(order)
        for position, place in enumerate(order):
            positions[place] = float(position)
        return tuple(positions)

    def sample(self, rng: np.random.Generator) -> Value:
        return tuple(self.items[place] for place in rng.permutation(len(self.items)).tolist())
