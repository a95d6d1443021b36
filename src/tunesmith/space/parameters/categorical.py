"""Values without an order, such as whether to unroll (OpEvo, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.space.parameters.choice import Choice
from tunesmith.space.parameters.parameter import place_below
from tunesmith.space.value import Value, identity


@dataclass(frozen=True)
class Categorical(Choice):
    """Distinct values of any type, in the order given. Each is adjacent to all others.

    Raises SpaceError for no values, and equal ones.
    """

    kind: ClassVar[str] = "categorical"

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name} = {value}" for value in self.values)

    def neighbours(self, value: Value) -> list[Value]:
        place = self.index_of(value)
        return [*self.values[:place], *self.values[place + 1 :]]

    def _random_neighbour(self, value: Value, rng: np.random.Generator) -> Value:
        other = place_below(len(self.values) - 1, rng)
        return self.values[other + (other >= self._places[identity(value)])]

    def distance(self, a: Value, b: Value) -> int:
        return int(self.index_of(a) != self.index_of(b))

    def encode(self, value: Value) -> tuple[float, ...]:
        """One number per value (one-hot): 1 for this one, 0 for the others."""
        place = self.index_of(value)
        return tuple(float(other == place) for other in range(len(self.values)))
