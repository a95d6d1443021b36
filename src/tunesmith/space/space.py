"""Spaces: the product of parameters, restricted by constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.errors import NoConfigFoundError, SpaceError
from tunesmith.notebook import html_table
from tunesmith.space.config import Config
from tunesmith.space.constraint import Constraint
from tunesmith.space.enumeration.component import Component, split
from tunesmith.space.enumeration.join import Join
from tunesmith.space.parameters.kinds import parameter_from_json
from tunesmith.space.parameters.parameter import Parameter
from tunesmith.space.value import Value, quote

FORMAT = "tunesmith-space"
VERSION = 1

# A space that cannot be counted counts as exhausted after this many draws without a new config.
_VAIN_DRAWS = 1000

# The number of configs that ``enumerate`` makes at a time.
_ROWS_AT_ONCE = 256


class Space:
    """Parameters, and constraints between them, which may be given as text.

    Configs are numbered over the Cartesian product of the parameters, valid or not; the last
    parameter varies fastest. Raises SpaceError for no parameters, what is no parameter or
    constraint, two parameters with the same name, and a constraint that reads an unknown parameter.
    """

    def __init__(
        self, parameters: Iterable[Parameter], constraints: Iterable[Constraint | str] = ()
    ) -> None:
        if isinstance(constraints, str):
            raise SpaceError(f"constraints are {quote(constraints)}: give a list of them")
        self.parameters = tuple(parameters)
        self.constraints = tuple(
            given if isinstance(given, Constraint) else Constraint(given) for given in constraints
        )
        self.names = tuple(_distinct_names(self.parameters))
        for constraint in self.constraints:
            for name in constraint.names:
                if name not in self.names:
                    raise SpaceError(
                        f"constraint {quote(str(constraint))} reads {quote(name)}, "
                        f"which is none of the parameters {quote(self.names)}"
                    )
        self._readers = {
            name: [constraint for constraint in self.constraints if name in constraint.names]
            for name in self.names
        }

    # Size and numbers

    @cached_property
    def _components(self) -> tuple[Component, ...]:
        return split(self.parameters, self.constraints)

    @cached_property
    def size(self) -> int:
        """The exact number of valid configs. Raises SpaceError if there are too many to count."""
        return math.prod(component.count for component in self._components)

    @cached_property
    def cartesian_size(self) -> int:
        """The number of configs, valid or not."""
        return math.prod(parameter.cardinality for parameter in self.parameters)

    def config_at(self, index: int) -> Config:
        """The config with this number, valid or not. Raises SpaceError if it is out of range."""
        if not 0 <= index < self.cartesian_size:
            raise SpaceError(
                f"no config has number {quote(index)}: give one of 0 to {self.cartesian_size - 1}"
            )
        index = int(index)  # otherwise NumPy's integers would end up in the values
        values: list[Value] = []
        for parameter in reversed(self.parameters):
            index, digit = divmod(index, parameter.cardinality)
            values.append(parameter.value_at(digit))
        return Config.from_values(dict(zip(self.names, reversed(values), strict=True)))

    def index_of(self, config: Mapping[str, Value]) -> int:
        """The number of a config: the inverse of ``config_at``.

        Raises SpaceError for other names or values.
        """
        index = 0
        for parameter, value in zip(self.parameters, self._values_of(config), strict=True):
            index = index * parameter.cardinality + parameter.index_of(value)
        return index

    # Membership

    def contains(self, config: Mapping[str, Value]) -> bool:
        """Whether ``config`` has exactly these parameters, valid values, and no violation.

        Raises SpaceError if a constraint cannot be evaluated.
        """
        return (
            len(config) == len(self.parameters)
            and all(
                parameter.name in config and parameter.contains(config[parameter.name])
                for parameter in self.parameters
            )
            and all(constraint.holds(config) for constraint in self.constraints)
        )

    def check(self, config: Mapping[str, Value]) -> None:
        """Raises SpaceError with the reason if the space does not contain ``config``."""
        for parameter, value in zip(self.parameters, self._values_of(config), strict=True):
            parameter.check(value)
        for constraint in self.constraints:
            if not constraint.holds(config):
                given = ", ".join(f"{name}={quote(config[name])}" for name in constraint.names)
                raise SpaceError(f"config violates {quote(str(constraint))}: it has {given}")

    def _values_of(self, config: Mapping[str, Value]) -> list[Value]:
        """The values in the order of the parameters. Raises SpaceError if the names differ."""
        for name in config:
            if name not in self._readers:
                raise SpaceError(f"config has {quote(name)}, which is not a parameter of the space")
        for name in self.names:
            if name not in config:
                raise SpaceError(f"config lacks parameter '{name}'")
        return [config[name] for name in self.names]

    # Sampling and enumeration

    def sample(self, rng: np.random.Generator) -> Config:
        """A config, all valid ones equally likely.

        Raises SpaceError if there is none, or hardly any so that drawing finds none.
        """
        values: dict[str, Any] = dict.fromkeys(self.names)  # keeps the order of the parameters
        for component in self._components:
            values.update(zip(component.names, component.draw(rng), strict=True))
        return Config.from_values(values)

    def sample_many(self, count: int, rng: np.random.Generator) -> list[Config]:
        """``count`` distinct valid configs in random order, or all if the space has fewer.

        Raises SpaceError for a negative count, and if no config is found. A space that cannot be
        counted counts as exhausted after 1,000 draws without a new config, or when drawing finds no
        valid one any more.
        """
        if count < 0:
            raise SpaceError(f"cannot sample {count} configs: give a number of 0 or more")
        if not count:
            return []
        size = self._size_for(count)
        if size is None or size >= 1 << 63:
            return self._draw_distinct(count, rng)
        if not size:
            return [self.sample(rng)]  # raises the error that says which constraints to loosen
        numbers = rng.choice(size, size=min(count, size), replace=False)
        return self._valid_at(numbers)

    def _size_for(self, count: int) -> int | None:
        """The size, if ``count`` configs are to be sampled by number; else None.

        For a large share of all configs this is necessary: independent draws would repeat.
        """
        if 16 * count < self.cartesian_size and not all(c.numbered for c in self._components):
            return None
        try:
            return self.size
        except SpaceError:
            return None

    def _valid_at(self, numbers: npt.NDArray[np.int64]) -> list[Config]:
        columns: dict[str, Any] = dict.fromkeys(self.names)
        for component in reversed(self._components):
            numbers, digits = np.divmod(numbers, component.count)
            columns.update(zip(component.names, component.columns_at(digits), strict=True))
        rows = zip(*columns.values(), strict=True)
        return [Config.from_values(dict(zip(self.names, row, strict=True))) for row in rows]

    def _draw_distinct(self, count: int, rng: np.random.Generator) -> list[Config]:
        found: dict[Config, None] = {}
        vain = 0
        while len(found) < count and vain < _VAIN_DRAWS:
            before = len(found)
            try:
                found[self.sample(rng)] = None
            except NoConfigFoundError:
                if not found:
                    raise
                break
            vain = vain + 1 if len(found) == before else 0
        return list(found)

    def enumerate(self) -> Iterator[Config]:
        """The valid configs in the order of their numbers."""
        join = Join(self.parameters, self.constraints)
        for block in join.blocks():
            for top in range(0, len(block), _ROWS_AT_ONCE):
                rows = block[top : top + _ROWS_AT_ONCE]
                columns = [
                    domain.values(numbers)
                    for domain, numbers in zip(join.domains, rows.T, strict=True)
                ]
                for values in zip(*columns, strict=True):
                    yield Config.from_values(dict(zip(self.names, values, strict=True)))

    # Topology and features

    def neighbours(self, config: Mapping[str, Value]) -> list[Config]:
        """The valid configs that differ in one parameter, by an adjacent value.

        Raises SpaceError for other names or values, and if a constraint cannot be evaluated.
        """
        return self._changed(
            config, ((each, each.neighbours(config[each.name])) for each in self.parameters)
        )

    def changed(self, config: Mapping[str, Value], name: str, to: Iterable[Value]) -> list[Config]:
        """Copies of ``config`` with one parameter set to each of the values ``to``, if valid.

        Raises SpaceError for an unknown parameter, a config with other names, and if a constraint
        cannot be evaluated.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return self._changed(config, [(parameter, to)])
        raise SpaceError(f"no parameter is called {quote(name)}: there are {quote(self.names)}")

    def _changed(
        self, config: Mapping[str, Value], to: Iterable[tuple[Parameter, Iterable[Value]]]
    ) -> list[Config]:
        values = dict(zip(self.names, self._values_of(config), strict=True))
        unmet = [constraint for constraint in self.constraints if not constraint.holds(values)]
        found = []
        for parameter, others in to:
            # All other constraints hold and do not read this parameter.
            affected = [*self._readers[parameter.name], *unmet]
            for value in others:
                changed = {**values, parameter.name: value}
                if all(constraint.holds(changed) for constraint in affected):
                    found.append(Config.from_values(changed))
        return found

    def distance(self, a: Mapping[str, Value], b: Mapping[str, Value]) -> int:
        """The sum of the parameters' distances: the steps from ``a`` to ``b`` if all are valid.

        Raises SpaceError for other names or values.
        """
        return sum(
            parameter.distance(of_a, of_b)
            for parameter, of_a, of_b in zip(
                self.parameters, self._values_of(a), self._values_of(b), strict=True
            )
        )

    def encode(self, config: Mapping[str, Value]) -> npt.NDArray[np.float64]:
        """Numeric features, shape (len(encoded_names),), in the order of the parameters.

        Raises SpaceError for other names or values.
        """
        values = zip(self.parameters, self._values_of(config), strict=True)
        return np.array(
            [number for parameter, value in values for number in parameter.encode(value)],
            dtype=np.float64,
        )

    @cached_property
    def encoded_names(self) -> tuple[str, ...]:
        """One name for each feature of ``encode``."""
        return tuple(name for parameter in self.parameters for name in parameter.encoded_names)

    # JSON, equality, pickling

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dictionary. Raises SpaceError if a constraint is a Python function."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "constraints": [constraint.to_json() for constraint in self.constraints],
        }

    @classmethod
    def from_json(cls, obj: object) -> Space:
        """The inverse of ``to_json``. Raises SpaceError for an invalid ``obj``."""
        if not isinstance(obj, Mapping) or obj.get("format") != FORMAT:
            raise SpaceError(f"{quote(obj)} is not a space: it lacks 'format': '{FORMAT}'")
        if obj.get("version") != VERSION:
            raise SpaceError(
                f"space of version {quote(obj.get('version'))}: this release reads {VERSION}"
            )
        for field in ("parameters", "constraints"):
            if not isinstance(obj.get(field), list):
                raise SpaceError(f"space: '{field}' is {quote(obj.get(field))}: give a list")
        return cls(
            [parameter_from_json(parameter) for parameter in obj["parameters"]],
            [Constraint(expression) for expression in obj["constraints"]],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return (self.parameters, self.constraints) == (other.parameters, other.constraints)

    def __hash__(self) -> int:
        return hash((self.parameters, self.constraints))

    def __reduce__(self) -> tuple[Any, ...]:
        # Without caches, which may hold millions of rows.
        return Space, (self.parameters, self.constraints)

    def __repr__(self) -> str:
        return f"Space({list(self.parameters)!r}, {list(self.constraints)!r})"

    def _repr_html_(self) -> str:
        rows = [(it.name, it.kind, f"{it.cardinality:,}", it.expectation) for it in self.parameters]
        rows += [("constraint", "", "", str(constraint)) for constraint in self.constraints]
        caption = f"space of {self.cartesian_size:,} configs, before constraints"
        return html_table(caption, ("parameter", "kind", "values", ""), rows)


def _distinct_names(parameters: Sequence[Parameter]) -> Iterable[str]:
    if not parameters:
        raise SpaceError("a space needs at least one parameter")
    seen = set()
    for parameter in parameters:
        if not isinstance(parameter, Parameter):
            raise SpaceError(
                f"{quote(parameter)} is not a parameter: give a Factorization or the like"
            )
        if parameter.name in seen:
            raise SpaceError(f"two parameters are called {quote(parameter.name)}: rename one")
        seen.add(parameter.name)
        yield parameter.name
