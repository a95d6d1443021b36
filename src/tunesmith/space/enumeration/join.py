"""Enumerates the valid combinations of parameters without trying all combinations.

Parameters are bound one after the other, a block of rows at a time, and a constraint is applied as
soon as all its names are bound. Of conditions that it joins by ``and``, each is applied as soon as
its own names are. Blocks are taken depth first: memory stays small, the first
combinations come at once, and the order is lexicographic in the values' numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tunesmith.space.columns import Array, Column, Frame, magnitude, take
from tunesmith.space.constraint import Conjunct, Constraint
from tunesmith.space.parameters.parameter import Parameter
from tunesmith.space.value import Value

Rows = npt.NDArray[np.int64]

BLOCK_ROWS = 1 << 16

# Domains of at most this many values are cached whole.
_FEW_VALUES = 1 << 14

# The cost of one row that Python evaluates, in rows that NumPy evaluates.
_PYTHON_COST = 20


class JoinLimitError(Exception):
    """More rows than allowed would have to be evaluated."""


class Domain:
    """A parameter's values by number, cached if there are few."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self._few = parameter.cardinality <= _FEW_VALUES

    @cached_property
    def _values(self) -> list[Value]:
        return [self.parameter.value_at(index) for index in range(self.parameter.cardinality)]

    @cached_property
    def _column(self) -> Column:
        return self.parameter.columns(np.arange(self.parameter.cardinality))

    def values(self, indices: Array) -> list[Value]:
        """The values with these numbers."""
        value: Callable[[int], Value] = (
            self._values.__getitem__ if self._few else self.parameter.value_at
        )
        return [*map(value, indices.tolist())]

    def column(self, indices: Array) -> Column:
        """The column of the values with these numbers."""
        return take(self._column, indices) if self._few else self.parameter.columns(indices)


def binding_constraints(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint]
) -> list[list[Constraint]]:
    """For each parameter, the constraints that can be applied as soon as it is bound."""
    place = {parameter.name: index for index, parameter in enumerate(parameters)}
    complete: list[list[Constraint]] = [[] for _ in parameters]
    for constraint in constraints:
        complete[max(place[name] for name in constraint.names)].append(constraint)
    return complete


def binding_conjuncts(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint]
) -> list[list[Conjunct]]:
    """For each parameter, the conditions that can be applied then, before their constraints can."""
    place = {parameter.name: index for index, parameter in enumerate(parameters)}
    complete: list[list[Conjunct]] = [[] for _ in parameters]
    for constraint in constraints:
        last = max(place[name] for name in constraint.names)
        for part in constraint.conjuncts:
            own = max(place[name] for name in part.names)
            if own < last:
                complete[own].append(part)
    return complete


class Binder:
    """Binds ``parameters`` one after the other, each to the values that the constraints allow.

    ``bind`` raises JoinLimitError once it has evaluated more than ``limit`` rows.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        constraints: Sequence[Constraint],
        limit: int | None = None,
    ) -> None:
        self.domains = [Domain(parameter) for parameter in parameters]
        self._names = [parameter.name for parameter in parameters]
        self._complete = binding_constraints(parameters, constraints)
        self._conjuncts = binding_conjuncts(parameters, constraints)
        self._limit = limit
        self._cost = 0

    def bind(self, depth: int, names: Sequence[str], rows: Array) -> Iterator[tuple[Array, Array]]:
        """Pairs of a row number and the number of a value of parameter ``depth`` that fits the row.

        ``rows`` holds the numbers of the values of ``names``, which include all other parameters
        that this parameter's constraints read. The pairs come in blocks, in order.
        """
        cardinality = self.domains[depth].parameter.cardinality
        self._spend(len(rows) * cardinality)
        height = max(1, BLOCK_ROWS // cardinality)
        place = {name: index for index, name in enumerate(names)}
        conditions: list[Constraint | Conjunct] = [*self._conjuncts[depth], *self._complete[depth]]
        for top in range(0, len(rows), height):
            some = np.arange(top, min(top + height, len(rows)), dtype=np.int64)
            for start in range(0, cardinality, BLOCK_ROWS):
                numbers = np.arange(start, min(start + BLOCK_ROWS, cardinality), dtype=np.int64)
                origins, values = np.repeat(some, len(numbers)), np.tile(numbers, len(some))
                for condition in conditions:
                    bound = {
                        name: rows[origins, place[name]]
                        for name in condition.names
                        if name in place
                    }
                    mask = self._mask(condition, {**bound, self._names[depth]: values})
                    origins, values = origins[mask], values[mask]
                if len(origins):
                    yield origins, values

    def read_after(self, depth: int) -> set[str]:
        """The names that constraints read which are applied after parameter ``depth`` is bound."""
        later = self._complete[depth + 1 :]
        return {name for complete in later for constraint in complete for name in constraint.names}

    def _mask(self, condition: Constraint | Conjunct, bound: Mapping[str, Array]) -> Array:
        """The rows in which a condition holds; ``bound`` has the numbers of its names' values."""
        numbers = {name: bound[name] for name in condition.names}
        columns = {name: self._domain(name).column(rows) for name, rows in numbers.items()}
        bounds = {name: magnitude(column) for name, column in columns.items()}
        rows = len(next(iter(numbers.values())))
        mask = condition.holds_columns(Frame(columns, rows), bounds)
        return self._mask_in_python(condition, numbers) if mask is None else mask

    def _mask_in_python(
        self, condition: Constraint | Conjunct, numbers: Mapping[str, Array]
    ) -> Array:
        """Evaluates the condition once for each distinct combination of the values it reads."""
        block = np.stack(list(numbers.values()), axis=1)
        distinct, inverse = np.unique(block, axis=0, return_inverse=True)
        self._spend(len(distinct) * _PYTHON_COST)
        columns = [
            self._domain(name).values(distinct[:, index]) for index, name in enumerate(numbers)
        ]
        holds = [
            condition.holds(dict(zip(numbers, values, strict=True)))
            for values in zip(*columns, strict=True)
        ]
        return np.array(holds, dtype=bool)[inverse.reshape(-1)]

    def _domain(self, name: str) -> Domain:
        return self.domains[self._names.index(name)]

    def _spend(self, rows: int) -> None:
        self._cost += rows
        if self._limit is not None and self._cost > self._limit:
            raise JoinLimitError


class Join(Binder):
    """The valid combinations of ``parameters``, which bind all names of ``constraints``."""

    def blocks(self) -> Iterator[Rows]:
        """The valid combinations, as arrays of shape (rows, parameters) of the values' numbers."""
        pending: list[Iterator[Rows]] = [iter([np.empty((1, 0), dtype=np.int64)])]
        while pending:
            block = next(pending[-1], None)
            if block is None:
                pending.pop()
            elif block.shape[1] == len(self.domains):
                yield block
            else:
                pending.append(self._extended(block))

    def _extended(self, rows: Rows) -> Iterator[Rows]:
        """The rows with one more parameter bound, to each value that the constraints allow."""
        depth = rows.shape[1]
        for origins, values in self.bind(depth, self._names[:depth], rows):
            yield np.concatenate((rows[origins], values[:, None]), axis=1)
