"""The independent components of a space: no constraint reads parameters of two of them.

The valid configs of a space are the product of those of its components. So each component is
counted and sampled separately, and only within one must combinations be enumerated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tunesmith.errors import NoConfigFoundError, SpaceError
from tunesmith.space.columns import Array
from tunesmith.space.constraint import Constraint
from tunesmith.space.enumeration.diagram import Diagram
from tunesmith.space.enumeration.join import Domain, JoinLimitError, binding_constraints
from tunesmith.space.parameters.parameter import Parameter, uniform_below
from tunesmith.space.value import Value, quote

# The most rows that counting may evaluate: a few seconds of work.
ROW_LIMIT = 20_000_000

# Up to this many combinations, the valid ones are always counted before the first sample.
_COUNTED_AT_ONCE = 1 << 20

_PROBES = 256
_WORTHWHILE_ACCEPTANCE = 1 / 8
_MAX_DRAWS = 200_000


class Component(ABC):
    """Some parameters of a space, and their valid combinations, numbered 0 … count - 1."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = tuple(parameters)
        self.names = tuple(parameter.name for parameter in parameters)

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of valid combinations. Raises SpaceError if they cannot be counted."""

    @property
    def numbered(self) -> bool:
        """Whether samples are drawn by number; if not, counting may be slow or impossible."""
        return True

    @abstractmethod
    def columns_at(self, numbers: Array) -> list[list[Value]]:
        """The values of the combinations with these numbers: one list for each of ``names``."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> tuple[Value, ...]:
        """A combination, all valid ones equally likely. Raises SpaceError if none is found."""


class FreeParameter(Component):
    """One parameter that no constraint reads."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__((parameter,))
        self._parameter = parameter
        self._domain = Domain(parameter)

    @property
    def count(self) -> int:
        return self._parameter.cardinality

    def columns_at(self, numbers: Array) -> list[list[Value]]:
        return [self._domain.values(numbers)]

    def draw(self, rng: np.random.Generator) -> tuple[Value, ...]:
        return (self._parameter.sample(rng),)


class TiedParameters(Component):
    """Parameters that share constraints.

    Valid combinations are numbered and drawn by number. If there are many and a large share of all
    combinations is valid, they are drawn by rejection sampling instead. The choice depends only on
    the space, so a seed always gives the same samples.
    """

    def __init__(self, parameters: Sequence[Parameter], constraints: Sequence[Constraint]) -> None:
        super().__init__(_join_order(parameters, constraints))
        self.constraints = tuple(constraints)
        self._domains = [Domain(parameter) for parameter in self.parameters]
        self._complete = binding_constraints(self.parameters, constraints)

    @cached_property
    def _diagram(self) -> Diagram | None:
        """The valid combinations; None if there are too many to enumerate."""
        try:
            return Diagram(self.parameters, self.constraints, ROW_LIMIT)
        except JoinLimitError:
            return None

    @property
    def count(self) -> int:
        if self._diagram is None:
            raise SpaceError(
                f"the valid configs cannot be counted: constraints tie {quote(self.names)} "
                f"together, and more than {ROW_LIMIT:,} combinations would have to be tried"
            )
        return self._diagram.count

    @cached_property
    def numbered(self) -> bool:
        combinations = math.prod(parameter.cardinality for parameter in self.parameters)
        if combinations > _COUNTED_AT_ONCE:
            rng = np.random.default_rng(0)
            accepted = sum(self._attempt(rng) is not None for _ in range(_PROBES))
            if accepted >= _PROBES * _WORTHWHILE_ACCEPTANCE:
                return False
        return self._diagram is not None

    def columns_at(self, numbers: Array) -> list[list[Value]]:
        assert self._diagram is not None
        columns = self._diagram.columns_at(numbers)
        return [
            domain.values(column) for domain, column in zip(self._domains, columns, strict=True)
        ]

    def draw(self, rng: np.random.Generator) -> tuple[Value, ...]:
        if self.numbered:
            assert self._diagram is not None
            if not self.count:
                raise SpaceError(f"no config satisfies {self._quoted_constraints()}: loosen them")
            places = self._diagram.at(uniform_below(self.count, rng))
            return tuple(
                parameter.value_at(place)
                for parameter, place in zip(self.parameters, places, strict=True)
            )
        for _ in range(_MAX_DRAWS):
            values = self._attempt(rng)
            if values is not None:
                return values
        raise NoConfigFoundError(
            f"found no valid config in {_MAX_DRAWS:,} draws: loosen {self._quoted_constraints()}"
        )

    def _attempt(self, rng: np.random.Generator) -> tuple[Value, ...] | None:
        """A random combination, or None as soon as a constraint fails."""
        values: dict[str, Value] = {}
        for parameter, complete in zip(self.parameters, self._complete, strict=True):
            values[parameter.name] = parameter.sample(rng)
            if not all(constraint.holds(values) for constraint in complete):
                return None
        return tuple(values.values())

    def _quoted_constraints(self) -> str:
        shown = ", ".join(quote(str(constraint)) for constraint in self.constraints[:3])
        more = len(self.constraints) - 3
        return f"{shown} and {more} more" if more > 0 else shown


def _join_order(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint]
) -> list[Parameter]:
    """An order of binding that prunes early: the constraint that is cheapest to complete first."""
    unbound = {parameter.name: parameter for parameter in parameters}
    waiting = list(constraints)
    order: list[Parameter] = []
    while unbound:
        cheapest = min(
            waiting,
            key=lambda constraint: math.prod(
                unbound[name].cardinality for name in constraint.names if name in unbound
            ),
        )
        waiting.remove(cheapest)
        fresh = [unbound.pop(name) for name in cheapest.names if name in unbound]
        order += sorted(fresh, key=lambda parameter: parameter.cardinality)
    return order


def split(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint]
) -> tuple[Component, ...]:
    """The components of a space, in the order of their first parameters."""
    group = {parameter.name: index for index, parameter in enumerate(parameters)}
    for constraint in constraints:
        joined = {group[name] for name in constraint.names}
        target = min(joined)
        group = {name: target if old in joined else old for name, old in group.items()}
    read = {name for constraint in constraints for name in constraint.names}
    components: list[Component] = []
    for index, first in enumerate(parameters):
        if first.name not in read:
            components.append(FreeParameter(first))
        elif group[first.name] == index:
            tied = [parameter for parameter in parameters if group[parameter.name] == index]
            theirs = [c for c in constraints if group[c.names[0]] == index]
            components.append(TiedParameters(tied, theirs))
    return tuple(components)
