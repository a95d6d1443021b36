"""Goes through the valid combinations of parameters without going through all of them.

Parameters are bound one after the other, a block of rows at a time, and a constraint is applied as
soon as all its names are bound. Blocks are taken depth first, so memory stays small, the first
combinations come at once, and all come in lexicographic order of the values' numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.space.columns import Array, Column, Frame, magnitude, take
from tunesmith.space.constraint import Constraint
from tunesmith.space.parameter import Parameter
from tunesmith.space.value import Value

Rows = npt.NDArray[np.int64]

BLOCK_ROWS = 1 << 16

# A parameter of no more values than this has them all kept at hand.
_FEW_VALUES = 1 << 14

# What a constraint that only Python can evaluate costs on one row, in rows that NumPy evaluates.
_PYTHON_COST = 20


class JoinLimitError(Exception):
    """More rows would have to be looked at than was allowed."""


class Domain:
    """A parameter with its values kept at hand where there are few."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self._few = parameter.cardinality <= _FEW_VALUES
        self._values: list[Value] | None = None
        self._column: Column | None = None

    def values(self, indices: Array) -> list[Value]:
        """The values of these numbers."""
        if not self._few:
            return [self.parameter.value_at(index) for index in indices.tolist()]
        if self._values is None:
            self._values = [
                self.parameter.value_at(index) for index in range(self.parameter.cardinality)
            ]
        known = self._values
        return [known[index] for index in indices.tolist()]

    def column(self, indices: Array) -> Column:
        """The column of the values of these numbers."""
        if not self._few:
            return self.parameter.columns(indices)
        if self._column is None:
            self._column = self.parameter.columns(np.arange(self.parameter.cardinality))
        return take(self._column, indices)


def binding_constraints(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint]
) -> list[list[Constraint]]:
    """For each parameter, the constraints that can be applied as soon as it is bound."""
    place = {parameter.name: index for index, parameter in enumerate(parameters)}
    complete: list[list[Constraint]] = [[] for _ in parameters]
    for constraint in constraints:
        complete[max(place[name] for name in constraint.names)].append(constraint)
    return complete


class Join:
    """The valid combinations of ``parameters``, which bind all names of ``constraints``.

    ``limit`` bounds the rows that may be looked at before ``blocks`` raises JoinLimitError.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        constraints: Sequence[Constraint],
        limit: int | None = None,
    ) -> None:
        self.domains = [Domain(parameter) for parameter in parameters]
        self._place = {parameter.name: index for index, parameter in enumerate(parameters)}
        self._complete = binding_constraints(parameters, constraints)
        self._limit = limit
        self._cost = 0

    def blocks(self) -> Iterator[Rows]:
        """Arrays of shape (rows, parameters): the numbers of the values of valid combinations."""
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
        """The rows with one more parameter bound, where the constraints allow it."""
        depth = rows.shape[1]
        cardinality = self.domains[depth].parameter.cardinality
        self._spend(len(rows) * cardinality)
        height = max(1, BLOCK_ROWS // cardinality)
        for top in range(0, len(rows), height):
            some = rows[top : top + height]
            for start in range(0, cardinality, BLOCK_ROWS):
                numbers = np.arange(start, min(start + BLOCK_ROWS, cardinality), dtype=np.int64)
                block = np.empty((len(some) * len(numbers), depth + 1), dtype=np.int64)
                block[:, :depth] = np.repeat(some, len(numbers), axis=0)
                block[:, depth] = np.tile(numbers, len(some))
                for constraint in self._complete[depth]:
                    block = block[self._mask(constraint, block)]
                if len(block):
                    yield block

    def _mask(self, constraint: Constraint, block: Rows) -> Array:
        places = [self._place[name] for name in constraint.names]
        columns = {
            name: self.domains[place].column(block[:, place])
            for name, place in zip(constraint.names, places, strict=True)
        }
        bounds = {name: magnitude(column) for name, column in columns.items()}
        mask = constraint.holds_columns(Frame(columns, len(block)), bounds)
        return self._mask_in_python(constraint, block[:, places]) if mask is None else mask

    def _mask_in_python(self, constraint: Constraint, block: Rows) -> Array:
        """One call for each combination of the values that the constraint reads."""
        distinct, inverse = np.unique(block, axis=0, return_inverse=True)
        self._spend(len(distinct) * _PYTHON_COST)
        columns = [
            self.domains[self._place[name]].values(distinct[:, index])
            for index, name in enumerate(constraint.names)
        ]
        holds = [
            constraint.holds(dict(zip(constraint.names, values, strict=True)))
            for values in zip(*columns, strict=True)
        ]
        return np.array(holds, dtype=bool)[inverse.reshape(-1)]

    def _spend(self, rows: int) -> None:
        self._cost += rows
        if self._limit is not None and self._cost > self._limit:
            raise JoinLimitError
