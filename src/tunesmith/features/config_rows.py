"""Configs as rows of value numbers, for searches that look at thousands of them at a time.

Column ``p`` numbers a value of parameter ``p``. Validity and coordinates are looked up for all rows
at once; only what is worth a trial becomes a ``Config``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tunesmith.errors import SpaceError
from tunesmith.features.coordinates import Coordinates
from tunesmith.space import Config, Parameter, Space, Value
from tunesmith.space.columns import Column, Frame, column_of, magnitude, take
from tunesmith.space.constraint import Constraint
from tunesmith.space.value import identity, quote

Rows = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[np.float64]

# Parameters with more values are not listed: a value gets its number when it is first met.
_LISTED = 1 << 14

# Constraints on at most so many combinations of values are evaluated once, for all of them.
_TABLED = 1 << 16

# An odd multiplier, so that equal keys of different rows are as rare as of random numbers.
_MULTIPLIER = 0x9E3779B97F4A7C15


class ConfigRows:
    """The rows of a space's configs, shape (rows, parameters)."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.coordinates = Coordinates(space)
        self._columns = [_Values(parameter, self.coordinates) for parameter in space.parameters]
        self._movable = np.array(
            [place for place, values in enumerate(self._columns) if values.cardinality > 1],
            dtype=np.int64,
        )
        # Of parameters that are not listed it is not used, and may be too large for an int64.
        self._cardinalities = np.array(
            [values.cardinality if values.listed else 2 for values in self._columns], dtype=np.int64
        )
        self._unlisted = [place for place, values in enumerate(self._columns) if not values.listed]
        ends = np.cumsum([0, *(values.width for values in self._columns)]).tolist()
        self._spans = [slice(*span) for span in pairwise(ends)]  # each one's coordinates
        rules = [_Rule(constraint, space, self._columns) for constraint in space.constraints]
        # Those that are looked up come first, so that the others are asked of fewer rows.
        self._rules = sorted(rules, key=lambda rule: not rule.tabled)
        factors = [pow(_MULTIPLIER, place + 1, 1 << 64) for place in range(len(self._columns))]
        self._factors: Keys = np.array(factors, dtype=np.uint64)

    def of(self, configs: Sequence[Config]) -> Rows:
        """The rows of configs."""
        given = [config.values_of(self.space.names) for config in configs]
        rows = np.empty((len(configs), len(self._columns)), dtype=np.int64)
        for place, values in enumerate(zip(*given, strict=True)):
            rows[:, place] = self._columns[place].numbers(values)
        return rows

    def configs(self, rows: Rows) -> list[Config]:
        """The configs of rows."""
        columns = [
            [values.known[number] for number in numbers]
            for values, numbers in zip(self._columns, rows.T.tolist(), strict=True)
        ]
        return [
            Config.from_values(dict(zip(self.space.names, values, strict=True)))
            for values in zip(*columns, strict=True)
        ]

    def keys(self, rows: Rows) -> Keys:
        """A number for each row: different rows have different ones, but for an accident."""
        keys: Keys = (rows.astype(np.uint64) + np.uint64(1)) @ self._factors
        return keys

    def features(self, rows: Rows) -> Array:
        """The ``Coordinates`` of rows, shape (rows, ``coordinates.count``)."""
        listed = self._listed
        features = np.empty((len(rows), self.coordinates.count))
        features[:, listed.columns] = listed.of(rows)
        for place in self._unlisted:
            values = self._columns[place]
            features[:, self._spans[place]] = values.coordinates[rows[:, place]]
        return features

    @cached_property
    def _listed(self) -> _Listed:
        return _Listed(self._columns, self._spans)

    def valid(self, rows: Rows) -> Bools:
        """Which rows meet all constraints, shape (rows,)."""
        holds = np.ones(len(rows), dtype=np.bool_)
        for rule in self._rules:
            if rule.tabled:
                holds &= rule.holds(rows)
            else:
                left = np.flatnonzero(holds)
                holds[left] = rule.holds(rows[left])
        return holds

    def moved(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Each row with another value for one of its parameters, valid or not.

        A parameter with so many values that they are not listed may get the same one.
        """
        moved = rows.copy()
        if not len(self._movable):
            return moved
        which = self._movable[rng.integers(len(self._movable), size=len(rows))]
        # Another number for each, all equally likely.
        counts, every = self._cardinalities[which], np.arange(len(rows))
        steps = 1 + rng.integers(counts - 1)
        moved[every, which] = (rows[every, which] + steps) % counts
        for place in self._unlisted:
            those = np.flatnonzero(which == place)
            moved[those, place] = self._columns[place].drawn(len(those), rng)
        return moved


class _Listed:
    """The coordinates of the listed values of all parameters, to be looked up at once.

    ``columns`` are theirs among those of a row.
    """

    def __init__(self, values: Sequence[_Values], spans: Sequence[slice]) -> None:
        listed = [place for place, each in enumerate(values) if each.listed and each.width]
        tables = [values[place].coordinates for place in listed]
        self._all = np.concatenate([np.empty(0), *(table.ravel() for table in tables)])
        widths = [table.shape[1] for table in tables]
        firsts = np.cumsum([0, *(table.size for table in tables)])[:-1]
        # One entry for each coordinate: whose it is, and where that of the first value is.
        self._places = np.repeat(np.array(listed, dtype=np.int64), widths)
        self._steps = np.repeat(np.array(widths, dtype=np.int64), widths)
        own = [np.arange(spans[place].start, spans[place].stop) for place in listed]
        self.columns = np.concatenate([np.empty(0, dtype=np.int64), *own])
        within = [column - column[0] for column in own]
        self._firsts = np.repeat(firsts, widths) + np.concatenate([self.columns[:0], *within])

    def of(self, rows: Rows) -> Array:
        """Shape (rows, columns)."""
        numbers = rows.take(self._places, axis=1)
        found: Array = self._all.take(numbers * self._steps + self._firsts)
        return found


class _Values:
    """The values of a parameter by number: all of them, or those met so far. Each has so many
    coordinates as its ``width`` says."""

    def __init__(self, parameter: Parameter, coordinates: Coordinates) -> None:
        self.parameter = parameter
        self.cardinality = parameter.cardinality
        self.listed = self.cardinality <= _LISTED
        self.known: list[Value] = []
        self._numbers: dict[object, int] = {}
        self._of_values = coordinates
        self._coordinates = coordinates.of_values(parameter.name, [])
        self.width = self._coordinates.shape[1]
        if self.listed:
            self.numbers([parameter.value_at(index) for index in range(self.cardinality)])

    def numbers(self, values: Sequence[Value]) -> Rows:
        """The numbers of values, shape (values,); new ones get the next numbers.

        Raises ``SpaceError`` for a value that a listed parameter does not have.
        """
        known = self._numbers
        keys = [*map(identity, values)]
        for key, value in zip(keys, values, strict=True):
            if key not in known:
                if len(known) == self.cardinality:
                    raise SpaceError(f"{self.parameter.name} has no value {quote(value)}")
                known[key] = len(known)
                self.known.append(value)
        return np.array([known[key] for key in keys], dtype=np.int64)

    @property
    def coordinates(self) -> Array:
        """Those of the known values, shape (known, coordinates of this parameter)."""
        new = self.known[len(self._coordinates) :]
        if new:
            more = self._of_values.of_values(self.parameter.name, new)
            self._coordinates = np.concatenate([self._coordinates, more])
        return self._coordinates

    def column(self, numbers: Rows) -> Column:
        """The values with these numbers."""
        if self.listed:
            return take(self._all, numbers)
        return column_of([self.known[number] for number in numbers.tolist()])

    @cached_property
    def _all(self) -> Column:
        return column_of(self.known)

    def drawn(self, count: int, rng: np.random.Generator) -> Rows:
        """The numbers of so many random values."""
        return self.numbers([self.parameter.sample(rng) for _ in range(count)])


class _Rule:
    """A constraint on rows. If it is ``tabled``, it is looked up, or else evaluated."""

    def __init__(self, constraint: Constraint, space: Space, columns: Sequence[_Values]) -> None:
        self._constraint = constraint
        self._places = [space.names.index(name) for name in constraint.names]
        self._values = [columns[place] for place in self._places]
        self._sizes = tuple(values.cardinality for values in self._values)
        listed = all(values.listed for values in self._values)
        self.tabled = listed and math.prod(self._sizes) <= _TABLED

    def holds(self, rows: Rows) -> Bools:
        numbers = [rows[:, place] for place in self._places]
        if self.tabled:
            table = self._table
            return table[tuple(numbers)]
        return self._evaluated(numbers)

    @cached_property
    def _table(self) -> Bools:
        """Whether it holds for each combination, shape (values of each parameter it reads)."""
        grid = np.indices(self._sizes).reshape(len(self._sizes), -1)
        return self._evaluated(list(grid)).reshape(self._sizes)

    def _evaluated(self, numbers: Sequence[Rows]) -> Bools:
        names, count = self._constraint.names, len(numbers[0])
        if not count:
            return np.zeros(0, dtype=np.bool_)
        columns = {
            name: values.column(those)
            for name, values, those in zip(names, self._values, numbers, strict=True)
        }
        bounds = {name: magnitude(column) for name, column in columns.items()}
        found = self._constraint.holds_columns(Frame(columns, count), bounds)
        if found is not None:
            return found
        rows = zip(*(those.tolist() for those in numbers), strict=True)
        return np.fromiter(map(self._holds, rows), dtype=np.bool_, count=count)

    def _holds(self, row: Sequence[int]) -> bool:
        """Whether it holds for values by their numbers. What it cannot say of values that a
        constraint before it rules out is of no matter; of others the space itself complains."""
        named = zip(self._constraint.names, self._values, row, strict=True)
        try:
            return self._constraint.holds({name: of.known[number] for name, of, number in named})
        except SpaceError:
            return False
