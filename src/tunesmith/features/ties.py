"""Groups of parameters that share constraints ("ties").

Ties are independent of each other. So an algorithm that changes a config can repair each tie
separately, instead of retrying the whole config.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tunesmith.space import Constraint, Parameter, Space, Value
from tunesmith.space.enumeration.component import TiedParameters, split


class Tie(NamedTuple):
    """Parameters that share constraints, or a single one without constraints."""

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
