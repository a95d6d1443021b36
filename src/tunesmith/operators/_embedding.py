"""Rows of a table, found by their indices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.operators._base.element_types import ALL_TYPES
from tunesmith.operators._base.operator import Argument, Array, Float64Array, Operator
from tunesmith.operators._base.options import choice, size


@dataclass(frozen=True, kw_only=True, repr=False)
class Embedding(Operator):
    """``output[i, :] = table[indices[i], :]``.

    An index below 0 counts as 0, and one above the last row as the last row: nothing outside of the
    table is ever read.
    """

    name: ClassVar[str] = "embedding"
    summary: ClassVar[str] = "rows of a table by their indices"
    signature: ClassVar[tuple[str, ...]] = ("indices (n)", "table (rows, width)")
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    n: int = field(metadata=size("indices"))
    rows: int = field(metadata=size("rows of the table"))
    width: int = field(metadata=size("elements of a row"))
    index_dtype: str = field(
        default="int64", metadata=choice("type of the indices", "int64", "int32")
    )

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (
            Argument("indices", (self.n,), self.index_dtype),
            Argument("table", (self.rows, self.width), self.dtype),
        )

    @property
    def result(self) -> Argument:
        return Argument("output", (self.n, self.width), self.dtype)

    @property
    def flops(self) -> int:
        """One for each element that is moved."""
        return self.result.elements

    @property
    def tolerance(self) -> tuple[float, float]:
        return 0.0, 0.0

    def make_inputs(self, seed: int) -> list[Array]:
        """Like those of other operators, but with indices uniform in [0, rows)."""
        _, table = super().make_inputs(seed)
        drawn = np.random.default_rng(seed).integers(0, self.rows, self.n)
        return [drawn.astype(self.index_dtype), table]

    def _define(self, inputs: list[Any]) -> Any:
        from tvm import te

        indices, table = inputs
        last = te.const(self.rows - 1, self.index_dtype)

        def element(i: Any, j: Any) -> Any:
            row = te.max(te.min(indices[i], last), te.const(0, self.index_dtype))
            return table[row.astype("int32"), j]

        return te.compute(self.result.shape, element, name=self.name)

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        indices, table = inputs
        found: Float64Array = table[np.clip(indices, 0, self.rows - 1).astype(np.int64)]
        return found
