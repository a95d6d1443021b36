"""Counts the valid combinations of parameters, and numbers them, without listing them.

Parameters are bound one after the other. Prefixes that agree in all values that later constraints
read have the same valid completions, so they share a state. A few thousand states can represent
millions of combinations. Such a graph is a multi-valued decision diagram.

Values and combinations are represented by their numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunesmith.space.columns import Array
from tunesmith.space.constraint import Constraint
from tunesmith.space.enumeration.join import Binder
from tunesmith.space.parameters.parameter import Parameter

# Rows are deduplicated by a lookup table if it has at most this many entries per row, else sorted.
_TABLE_ENTRIES_PER_ROW = 4

# Up to here, products and sums of counts fit into int64.
_LARGEST = 1 << 62


@dataclass(frozen=True)
class _Level:
    """The choices of one parameter, as edges between the states before it and those after it.

    State ``s`` has the edges ``first[s]`` to ``first[s + 1] - 1``, ordered by ``values``.
    ``before`` is a running count over the level's edges: the combinations that all earlier edges
    lead to. ``ends`` is the number of combinations from each state.
    """

    first: Array
    values: Array
    targets: Array
    before: Array
    ends: Array

    @classmethod
    def of(cls, states: int, origins: Array, values: Array, targets: Array, ends: Array) -> _Level:
        """The level of edges from ``origins`` to ``targets``, before a level with these ``ends``.

        The edges are sorted by ``origins``, then by ``values``.
        """
        first = np.searchsorted(origins, np.arange(states + 1))
        running = np.concatenate((np.zeros(1, ends.dtype), np.cumsum(ends[targets])))
        return cls(first, values, targets, running, np.diff(running[first]))


class Diagram:
    """The valid combinations of ``parameters``, in lexicographic order of their values' numbers.

    ``count`` is their number. Raises JoinLimitError if more than ``limit`` rows would have to be
    evaluated.
    """

    def __init__(
        self, parameters: Sequence[Parameter], constraints: Sequence[Constraint], limit: int
    ) -> None:
        self._sizes = {parameter.name: parameter.cardinality for parameter in parameters}
        # The smallest type that holds the numbers: there may be millions of rows.
        self._kind = np.min_scalar_type(min(max(self._sizes.values()), limit))
        fits = math.prod(self._sizes.values()) < _LARGEST
        ends = np.ones(1, dtype=np.int64 if fits else object)
        self._levels: list[_Level] = []
        bound = self._bound(Binder(parameters, constraints, limit))
        for states, origins, values, targets in reversed(bound):
            self._levels.insert(0, _Level.of(states, origins, values, targets, ends))
            ends = self._levels[0].ends
        self.count = int(ends[0])

    def at(self, number: int) -> list[int]:
        """The numbers of the values of combination ``number``, 0 … count - 1."""
        state, places = 0, []
        for level in self._levels:
            first, end = int(level.first[state]), int(level.first[state + 1])
            place = number + int(level.before[first])
            edge = bisect_right(level.before, place, first, end) - 1
            number = place - int(level.before[edge])
            places.append(int(level.values[edge]))
            state = int(level.targets[edge])
        return places

    def columns_at(self, numbers: Array) -> list[Array]:
        """Like ``at`` for many combinations: one array for each parameter."""
        states, columns = np.zeros(len(numbers), dtype=np.int64), []
        for level in self._levels:
            places = numbers + level.before[level.first[states]]
            edges = np.searchsorted(level.before, places, side="right") - 1
            # ``before`` has one more entry than there are edges: the total.
            edges = np.minimum(edges, len(level.values) - 1)
            numbers = places - level.before[edges]
            columns.append(level.values[edges])
            states = level.targets[edges]
        return columns

    def _bound(self, binder: Binder) -> list[tuple[int, Array, Array, Array]]:
        """For each parameter the number of states before it, and the edges from them: their
        origins, values and targets."""
        names: list[str] = []
        states = np.empty((1, 0), dtype=self._kind)
        levels = []
        for depth, name in enumerate(self._sizes):
            nothing = np.empty(0, dtype=np.int64)
            pairs = [(nothing, nothing), *binder.bind(depth, names, states)]
            origins, values = (np.concatenate(column) for column in zip(*pairs, strict=True))
            still_read = binder.read_after(depth)
            rows = {old: states[origins, i] for i, old in enumerate(names) if old in still_read}
            if name in still_read:
                rows[name] = values
            targets, examples = self._deduplicated(rows, len(values))
            levels.append((len(states), origins, values.astype(self._kind), targets))
            names = list(rows)
            states = np.empty((len(examples), len(names)), dtype=self._kind)
            for index, column in enumerate(rows.values()):
                states[:, index] = column[examples]
        return levels

    def _deduplicated(self, columns: dict[str, Array], count: int) -> tuple[Array, Array]:
        """A state number for each of ``count`` rows, equal for equal rows; and a row per state."""
        keys, possible = np.zeros(count, dtype=np.int64), 1
        for name, column in columns.items():
            if possible * self._sizes[name] >= _LARGEST:
                distinct, keys = np.unique(keys, return_inverse=True)
                possible = max(1, len(distinct))
            keys = keys * self._sizes[name] + column
            possible *= self._sizes[name]
        if possible > _TABLE_ENTRIES_PER_ROW * count:
            _, examples, numbers = np.unique(keys, return_index=True, return_inverse=True)
            return numbers, examples
        example = np.full(possible, -1, dtype=np.int64)
        example[keys] = np.arange(count)
        there = example >= 0
        return (np.cumsum(there) - 1)[keys], example[there]
