"""The program of a reduction: one pass, or two where parts of a sum are made by several cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.operators import Reduce
from tunesmith.sketches.cpu.reduce.columns import Extents, Tile, reduce_columns
from tunesmith.sketches.cpu.reduce.combining import Combining
from tunesmith.sketches.cpu.reduce.rows import reduce_rows
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_of


@dataclass(frozen=True)
class Blocking:
    """The choices of a program.

    Vectors have ``lanes``. They run along the reduced axis if its elements are neighbours in
    memory, ``unroll`` of them a step; else along the axis after it, ``vectors`` of them side by
    side, whose sums take ``unroll`` turns. The reduced axis is divided into ``parts``, which are
    combined in a second pass. ``shared``: among the cores.
    """

    lanes: int
    unroll: int
    vectors: int
    parts: int
    shared: bool

    def sweep(self, length: int) -> Sweep:
        """The vectors of a row of so many elements."""
        return Sweep(length, min(self.lanes, emit.power_of_two(length)), self.unroll)

    @property
    def tile(self) -> Tile:
        """A tile of results."""
        return Tile(self.lanes, self.vectors, self.unroll)


def reduce_program(operator: Reduce, blocking: Blocking) -> Any:
    """The module of a blocking, whose ``main`` takes the data and the result."""
    count = operator.n if operator.kind == "mean" else 1
    combining = Combining(operator.kind, operator.accumulate_dtype, count)
    parts, shared = blocking.parts, blocking.shared

    def main(buffers: Sequence[Any]) -> None:
        if parts == 1:
            whole = Extents(operator.outer, operator.n, operator.inner)
            _pass(buffers, combining, whole, blocking, shared=shared)
            return
        data, output = buffers
        part = Extents(operator.outer * parts, operator.n // parts, operator.inner)
        between = emit.buffer("parts", (part.outer, part.inner), combining.total)
        _pass((data, between), replace(combining, count=1), part, blocking, shared=shared)
        rest = Extents(operator.outer, parts, operator.inner)
        _pass((between, output), combining, rest, blocking, shared=False)

    return program_of(operator, main)


def _pass(
    buffers: Sequence[Any],
    combining: Combining,
    extents: Extents,
    blocking: Blocking,
    *,
    shared: bool,
) -> None:
    if extents.inner == 1:
        sweep = blocking.sweep(extents.count)
        reduce_rows(buffers, combining, extents.outer, sweep, shared=shared)
    else:
        reduce_columns(buffers, combining, extents, blocking.tile, shared=shared)
