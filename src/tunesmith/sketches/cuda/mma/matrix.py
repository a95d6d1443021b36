"""The operands and the result of a product: where their elements lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cuda.mma.shared_tile import CHUNK
from tunesmith.sketches.tir import emit

SIZE = "size"
DEPTH = "depth"

Line = Callable[[Any], tuple[Any, Any]]
"""``line(depth)``: the index of an element in memory, and the condition that it is there, or None
if it always is; else it is zero."""


@dataclass(frozen=True)
class Window:
    """A row or column that is a window of an image: where its first element is in memory, and the
    condition that tap number ``t`` is not padding, ``inside(t)``, or None if it never is."""

    start: Any
    inside: Callable[[int], Any | None]


@dataclass(frozen=True)
class Taps:
    """What all windows have in common: their terms, which a table in shared memory keeps.

    A window has ``count`` taps of each channel, fewer than there are bits in a word.
    ``term(depth)`` is by how much a term is away from the window's first one in memory, and its
    tap. ``window(index)`` emits what is the same for all terms.
    """

    count: int
    term: Callable[[Any], tuple[Any, Any]]
    window: Callable[[Any], Window]


@dataclass(frozen=True)
class Matrix:
    """One of two operands: ``size`` rows (left) or columns (right), each of ``depth`` elements.

    ``argument`` is the number of the operator's argument that it is, or is computed from.
    ``along`` says which of its neighbours follow each other in memory. ``vector`` of them can be
    copied at a time, 2, 4 or 8; 1 means that it is ``gathered`` element by element.
    ``line(batch, index)`` emits what is the same for all elements of a row or column. ``taps`` are
    the terms of windows, where a table of them is worth its memory.
    """

    argument: int
    size: int
    depth: int
    along: str
    vector: int
    line: Callable[[Any, Any], Line]
    taps: Taps | None = None

    def table_entries(self, block_k: int, splits: int = 1) -> int:
        """How many terms a table has, of all k tiles of ``block_k`` that a block may have of a
        sum that so many share; 0 without one."""
        if not self.taps:
            return 0
        k_tiles = emit.tile_count(self.depth, block_k)
        return emit.tile_count(k_tiles, splits) * block_k

    @property
    def gathered(self) -> bool:
        """Whether elements are copied one by one, through registers."""
        return self.vector == 1

    @property
    def shared_along(self) -> str:
        """Which neighbours follow each other in shared memory: eight gathered ones of a sum."""
        return DEPTH if self.gathered else self.along

    @property
    def piece(self) -> int:
        """How many elements a thread copies at a time."""
        return CHUNK if self.gathered else self.vector


@dataclass(frozen=True)
class Product:
    """``batch`` times (rows, depth) by (depth, columns), the sums of an operator.

    ``place(batch, row, column)`` is the index of an element of the result in memory, of which
    ``vector`` along a row follow each other. ``bias_along_rows`` says whether the bias has a value
    for each row, not each column.
    """

    batch: int
    left: Matrix
    right: Matrix
    place: Callable[[Any, Any, Any], Any]
    vector: int
    bias_along_rows: bool = False

    @property
    def rows(self) -> int:
        """Rows of the result."""
        return self.left.size

    @property
    def columns(self) -> int:
        """Columns of the result."""
        return self.right.size

    @property
    def depth(self) -> int:
        """Terms of each sum."""
        return self.left.depth


def widest_vector(*extents: int) -> int:
    """How many elements can be copied at a time where all of these are multiples of that."""
    return next(v for v in (CHUNK, 4, 2, 1) if all(extent % v == 0 for extent in extents))


def plain_matrix(argument: int, size: int, depth: int, along: str) -> Matrix:
    """An operand in memory as a matrix whose rows run ``along`` one of the two, a batch of them one
    after the other."""

    def line(batch: Any, index: Any) -> Line:
        offset = index * depth if along == DEPTH else index
        start = emit.bind("line", batch * (size * depth) + offset)
        return lambda at: (start + (at if along == DEPTH else at * size), None)

    vector = widest_vector(depth if along == DEPTH else size)
    return Matrix(argument, size, depth, along, vector, line)
