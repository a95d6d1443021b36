"""The parameters of a space that constraints tie together.

What one tie allows does not depend on the others, so an algorithm that changes a config can mend
each tie by itself instead of trying the whole config again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tunesmith.space import Constraint, Parameter, Space, Value
from tunesmith.space.enumeration.component import TiedParameters, split


class Tie(NamedTuple):
    """Parameters that constraints tie together, or one that is free of any."""

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]

    def allows(self, values: Mapping[str, Value]) -> bool:
        """Whether these values of its parameters meet its constraints."""
        return all(constraint.holds(values) for constraint in self.constraints)


def ties_of(space: Space) -> tuple[Tie, ...]:
    """The ties of a space. A config is valid if each of them allows its values."""
    return tuple(
        Tie(part.parameters, part.constraints if isinstance(part, TiedParameters) else ())
        for part in split(space.parameters, space.constraints)
    )
