"""Numbers with an order, such as unroll steps: the discrete parameter of OpEvo, section 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tunesmith.errors import SpaceError
from tunesmith.space.choice import Choice
from tunesmith.space.value import Value, quote


@dataclass(frozen=True)
class Ordinal(Choice):
    """Distinct numbers, kept in ascending order. The next lower and higher are adjacent."""

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

    def distance(self, a: Value, b: Value) -> int:
        return abs(self.index_of(a) - self.index_of(b))

    def encode(self, value: Value) -> tuple[float, ...]:
        """The number itself."""
        self.check(value)
        assert isinstance(value, int | float)
        return (float(value),)
