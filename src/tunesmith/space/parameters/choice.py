"""Parameters whose values are listed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tunesmith.space.columns import Array, Column, column_of, take
from tunesmith.space.parameters.parameter import Parameter
from tunesmith.space.value import Value, as_values, identity, quote


@dataclass(frozen=True)
class Choice(Parameter):
    """A parameter with a list of distinct values; the subclass defines which are adjacent."""

    values: Sequence[Value]

    def __post_init__(self) -> None:
        super().__post_init__()
        values = as_values(self.values, f"{self.kind} '{self.name}'", "values")
        object.__setattr__(self, "values", self.arranged(values))

    def arranged(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """The values in the order of their numbers."""
        return values

    @property
    def cardinality(self) -> int:
        return len(self.values)

    @cached_property
    def _places(self) -> dict[object, int]:
        return {identity(value): place for place, value in enumerate(self.values)}

    @cached_property
    def _column(self) -> Column:
        return column_of(self.values)

    @property
    def expectation(self) -> str:
        return f"one of {quote(self.values)}"

    def contains(self, value: object) -> bool:
        try:
            return identity(value) in self._places
        except TypeError:  # not hashable
            return False

    def value_at(self, index: int) -> Value:
        return self.values[self.plain_index(index)]

    def index_of(self, value: Value) -> int:
        self.check(value)
        return self._places[identity(value)]

    def columns(self, indices: Array) -> Column:
        return take(self._column, indices)
