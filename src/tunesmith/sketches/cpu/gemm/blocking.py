"""The settings of a product's loops, and the sizes that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from tunesmith.operators import Argument
from tunesmith.sketches.cpu.gemm.precision import Precision
from tunesmith.sketches.tir import emit


class Packing(StrEnum):
    """Where an operand is packed into panels."""

    NONE = "none"
    """Not at all: it is read in place."""
    WHOLE = "whole"
    """Before the product, in a parallel loop of its own; once, if the operand is constant."""
    BLOCK = "block"
    """In each task, the part that it uses, into memory of the task."""


class Side(StrEnum):
    """One of the two directions of the result."""

    ROWS = "rows"
    COLUMNS = "columns"

    @property
    def other(self) -> Side:
        """The direction across this one."""
        return Side.COLUMNS if self is Side.ROWS else Side.ROWS


@dataclass(frozen=True)
class Blocking:
    """The tiling of a product's loops.

    A register tile has ``rows`` rows of ``vectors`` vectors of ``lanes`` columns. Each sum has
    ``chains`` partial sums, added up at the end, to hide the latency of additions in small tiles.
    The loop over the reduction is unrolled by ``unroll`` and prefetches lines of the right panel
    ``prefetch`` steps ahead (0: never). A k tile has ``depth`` words; between k tiles the sums are
    stored in the cache.

    The tiles are shared among ``row_parts`` times ``column_parts`` tasks; ``outer`` is the
    direction of the outer loop over tasks. In a task, ``inner`` is the direction of the inner loop
    over tiles, which is cut into ``blocks`` so that the panels of a block stay in cache.

    ``fetch_next``: prefetch the next product of a batch while one is computed.
    """

    rows: int
    vectors: int
    lanes: int
    depth: int
    chains: int = 1
    unroll: int = 1
    prefetch: int = 0
    row_parts: int = 1
    column_parts: int = 1
    outer: Side = Side.ROWS
    inner: Side = Side.ROWS
    blocks: int = 1
    pack_left: Packing = Packing.WHOLE
    pack_right: Packing = Packing.WHOLE
    fetch_next: bool = False

    @property
    def columns(self) -> int:
        """Columns of a register tile."""
        return self.vectors * self.lanes


@dataclass(frozen=True)
class Direction:
    """The result's rows or columns: ``size`` of them in register tiles of ``width``.

    The tiles are shared among ``parts`` tasks. ``packing`` is that of the operand on this side.
    """

    size: int
    width: int
    parts: int
    packing: Packing

    @property
    def tiles(self) -> int:
        """Register tiles that cover them."""
        return emit.tile_count(self.size, self.width)

    @property
    def most(self) -> int:
        """Register tiles of the largest task."""
        return -(-self.tiles // self.parts)


@dataclass(frozen=True)
class Plan:
    """A product of ``batch`` pairs of matrices, (rows, depth) times (depth, columns), and its
    blocking.

    ``panel_lanes`` is how many words a vector of the target holds. The register tile must not be
    larger than the result, and the ``depth`` of the blocking must divide that of the plan in words.
    """

    batch: int
    rows: int
    columns: int
    depth: int
    precision: Precision
    panel_lanes: int
    blocking: Blocking

    @property
    def words(self) -> int:
        """The length of the reduction in words."""
        return self.precision.words(self.depth)

    @property
    def depth_blocks(self) -> int:
        """The number of k tiles."""
        return self.words // self.blocking.depth

    @cached_property
    def directions(self) -> Mapping[Side, Direction]:
        """The result's rows and columns."""
        cut = self.blocking
        return {
            Side.ROWS: Direction(self.rows, cut.rows, cut.row_parts, cut.pack_left),
            Side.COLUMNS: Direction(self.columns, cut.columns, cut.column_parts, cut.pack_right),
        }

    @property
    def tasks(self) -> int:
        """Steps of the parallel loop."""
        return self.batch * self.blocking.row_parts * self.blocking.column_parts

    def panel_length(self, side: Side, words: int) -> int:
        """Words of a panel: those of the reduction, and the sums' first values."""
        beginnings = self.precision.compensates and side is Side.COLUMNS
        return (words + beginnings) * self.directions[side].width

    def panels(self, side: Side) -> Argument:
        """All panels of an operand, of its rows (the left one) or its columns (the right one)."""
        length = self.panel_length(side, self.words)
        shape = (self.batch, self.directions[side].tiles, length)
        name = "left_panels" if side is Side.ROWS else "right_panels"
        return Argument(name, shape, self.precision.word)


def share(part: Any, parts: int, total: Any) -> tuple[Any, Any]:
    """The first step and the number of steps of one of ``parts`` parts of a total.

    Parts differ by one step at most. Where all are equal, the number of steps is an ``int``.
    """
    if parts == 1:
        return 0, total
    if isinstance(total, int) and total % parts == 0:
        return part * (total // parts), total // parts
    first = emit.bind("first", part * total // parts)
    return first, emit.bind("count", (part + 1) * total // parts - first)
