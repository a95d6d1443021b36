"""The operands and the result of a product: the addresses of their elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cuda.mma.shared_tile import CHUNK
from tunesmith.sketches.tir import emit

SIZE = "size"
DEPTH = "depth"

Line = Callable[[Any], tuple[Any, Any]]
"""``line(depth)``: the index of an element in memory, and the condition that it is not padding, or
None if it never is; padding is zero."""


@dataclass(frozen=True)
class Window:
    """A row or column that is a window of an image: the index of its first element in memory, and
    ``inside(t)``, the condition that tap number ``t`` is not padding, or None if it never is."""

    start: Any
    inside: Callable[[int], Any | None]


@dataclass(frozen=True)
class Taps:
    """The terms of windows, for a table in shared memory.

    A window has ``count`` taps of each channel, fewer than a word has bits. ``term(depth)`` is the
    offset of a term from the window's first one in memory, and its tap. ``window(index)`` emits
    what is the same for all terms.
    """

    count: int
    term: Callable[[Any], tuple[Any, Any]]
    window: Callable[[Any], Window]


@dataclass(frozen=True)
class Matrix:
    """One of two operands: ``size`` rows (left) or columns (right), each of ``depth`` elements.

    ``argument`` is the number of the operator's argument that it is, or is computed from. ``along``
    is the contiguous direction in memory. ``vector`` elements are copied at a time, 2, 4 or 8; 1
    means that it is ``gathered`` element by element. ``line(batch, index)`` emits what is the same
    for all elements of a row or column. ``taps`` are the terms of windows, where a table of them
    is worth its memory.
    """

    argument: int
    size: int
    depth: int
    along: str
    vector: int
    line: Callable[[Any, Any], Line]
    taps: Taps | None = None

    def table_entries(self, block_k: int, splits: int = 1) -> int:
        """How many terms a table has: those of all k tiles that a block may have of a sum that
        ``splits`` blocks share; 0 without a table."""
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
        """The contiguous direction in shared memory: gathered elements are along the sum."""
        return DEPTH if self.gathered else self.along

    @property
    def piece(self) -> int:
        """How many elements a thread copies at a time."""
        return CHUNK if self.gathered else self.vector


@dataclass(frozen=True)
class Product:
    """``batch`` products of (rows, depth) by (depth, columns), the sums of an operator.

    ``place(batch, row, column)`` is the index of an element of the result in memory; ``vector``
    elements along a row are contiguous. ``bias_along_rows`` says whether the bias has a value for
    each row, not each column.
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
    """The longest vector, up to eight elements, that divides all extents."""
    return next(v for v in (CHUNK, 4, 2, 1) if all(extent % v == 0 for extent in extents))


def plain_matrix(argument: int, size: int, depth: int, along: str) -> Matrix:
    """An operand that is a batch of matrices in memory, contiguous in direction ``along``."""

    def line(batch: Any, index: Any) -> Line:
        offset = index * depth if along == DEPTH else index
        start = emit.bind("line", batch * (size * depth) + offset)
        return lambda at: (start + (at if along == DEPTH else at * size), None)

    vector = widest_vector(depth if along == DEPTH else size)
    return Matrix(argument, size, depth, along, vector, line)
