"""Ordered numbers, such as unroll steps: the discrete parameter of OpEvo, section 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.errors import SpaceError
from tunesmith.space.parameters.choice import Choice
from tunesmith.space.value import Value, identity, quote


@dataclass(frozen=True)
class Ordinal(Choice):
    """Distinct numbers in ascending order. Each is adjacent to the next lower and higher one.

    Raises SpaceError for no values, equal ones, and what is no finite number.
    """

    values: Sequence[int | float]

    kind: ClassVar[str] = "ordinal"

    def arranged(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        for value in values:
            if type(value) is not int and type(value) is not float:
                raise SpaceError(
                    f"ordinal '{self.name}': {quote(value)} is not a number: use a Categorical"
                )
        return tuple(sorted(values))

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return (self.name,)

    def neighbours(self, value: Value) -> list[Value]:
        place = self.index_of(value)
        return [
            self.values[near] for near in (place - 1, place + 1) if 0 <= near < len(self.values)
        ]

    def _random_neighbour(self, value: Value, rng: np.random.Generator) -> Value:
        place, last = self._places[identity(value)], len(self.values) - 1
        if place in (0, last):
            return self.values[1 if place == 0 else last - 1]
        return self.values[place + (1 if rng.random() < 0.5 else -1)]

    def distance(self, a: Value, b: Value) -> int:
        return abs(self.index_of(a) - self.index_of(b))

    def encode(self, value: Value) -> tuple[float, ...]:
        """The number itself."""
        self.check(value)
        assert isinstance(value, int | float)
        return (float(value),)
