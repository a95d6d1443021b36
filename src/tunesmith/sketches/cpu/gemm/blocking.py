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
    """Where an operand is laid out in panels."""

    NONE = "none"
    """Nowhere: it is read where it lies."""
    WHOLE = "whole"
    """Before everything else, in a parallel loop of its own (or once, if it never changes)."""
    BLOCK = "block"
    """Within a task, by the core that uses it, into memory of its own."""


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
    """How the loops of a product are cut.

    A register tile has ``rows`` rows of ``vectors`` vectors of ``lanes`` columns, each sum in
    ``chains`` parts which are added up at the end (so that short tiles do not wait for their last
    addition). Its loop over the reduction does ``unroll`` steps at a time and asks for lines of the
    right panel ``prefetch`` steps ahead (0: never); it takes ``depth`` words and keeps the sums in
    the cache until the next ``depth``.

    The tiles are cut into ``row_parts`` times ``column_parts`` tasks, of which those in the
    direction ``outer`` differ most slowly. In a task the tiles in the direction ``inner`` change
    fastest, ``blocks`` ranges of them one after the other, so that a range's panels stay in cache.

    ``fetch_next``: while a product of a batch is computed, ask for the memory of the next one.
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
    """A product of ``batch`` pairs of matrices, (rows, depth) times (depth, columns), and how.

    ``panel_lanes`` is how many words a vector of the target holds. The tile of a blocking must not
    be larger than the result, and its ``depth`` must divide that of the plan in words.
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
        """How many times the reduction goes on from sums in the cache, the first included."""
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
        """How many words a panel takes: those of the reduction, and where sums begin."""
        beginnings = self.precision.compensates and side is Side.COLUMNS
        return (words + beginnings) * self.directions[side].width

    def panels(self, side: Side) -> Argument:
        """All panels of an operand, of its rows (the left one) or its columns (the right one)."""
        length = self.panel_length(side, self.words)
        shape = (self.batch, self.directions[side].tiles, length)
        name = "left_panels" if side is Side.ROWS else "right_panels"
        return Argument(name, shape, self.precision.word)


def share(part: Any, parts: int, total: Any) -> tuple[Any, Any]:
    """The first and the count of those steps of a total that fall to one of so many parts.

    The parts differ by one step at most. Where they are known to be equal, the count is a number.
    """
    if parts == 1:
        return 0, total
    if isinstance(total, int) and total % parts == 0:
        return part * (total // parts), total // parts
    first = emit.bind("first", part * total // parts)
    return first, emit.bind("count", (part + 1) * total // parts - first)
