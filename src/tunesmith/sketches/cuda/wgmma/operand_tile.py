"""Tiles of operands in shared memory in the layouts of ``wgmma``, and their descriptors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cuda.mma.shared_tile import CHUNK, SWIZZLED, SharedTile

# The instruction's code of a swizzle by the elements of a row of a block: 128, 64 and 32 bytes.
_ORDERS = {64: 1, 32: 2, 16: 3}

UNIT = 16
"""Bytes: what descriptors count in."""

_ELEMENT = 2
# The number of rows after which the swizzle repeats.
_ROWS = 8

# The first bit of each part of a word of a descriptor that is not 0, but for those that begin it.
_LEADING, _ORDER = 16, 30

ALIGNMENT = 1024
"""Bytes of eight rows of the widest blocks. The swizzle depends on addresses, so tiles begin at
multiples of that."""


@dataclass(frozen=True)
class OperandTile(SharedTile):
    """``rows`` of ``columns`` elements each, in blocks of all rows and 64 columns, or of 32 or 16
    where there are not as many.

    The rows of a block are contiguous, and their chunks in the order of ``SharedTile``, which is
    that of the hardware. ``along_depth`` says whether columns are elements of the sum ("K-major")
    or of the result ("MN-major"). (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory
    Layout", its sections on strides and on canonical layouts.)
    """

    along_depth: bool

    @classmethod
    def of(cls, rows: int, columns: int, *, along_depth: bool) -> OperandTile:
        """The tile of ``rows`` and ``columns``, multiples of eight and 16."""
        return cls(rows, columns, SWIZZLED, along_depth)

    @property
    def width(self) -> int:
        """Columns of a block."""
        return next(width for width in _ORDERS if self.columns % width == 0)

    @property
    def stride(self) -> int:
        """Elements from one row of a block to the next."""
        return self.width

    @property
    def elements(self) -> int:
        """Elements of the whole tile."""
        return self.rows * self.columns

    def place(self, row: Any, chunk: Any) -> Any:
        """The index of the first element of a chunk of a row: numbers, or expressions."""
        block = SharedTile(self.rows, self.width, SWIZZLED)
        if self.width == self.columns:
            return block.place(row, chunk)
        chunks = self.width // CHUNK
        return chunk // chunks * block.elements + block.place(row, chunk % chunks)

    def start(self, along: int, depth: int) -> int:
        """Where an instruction's part of the tile starts, in units of 16 bytes.

        ``along`` is its first row or column of the result, a multiple of eight or, where columns
        are such, of 64; ``depth`` its first element of the sum, a multiple of 16.
        """
        row, column = (along, depth) if self.along_depth else (depth, along)
        block, within = divmod(column, self.width)
        elements = block * self.rows * self.width + row * self.width + within
        return elements * _ELEMENT // UNIT

    @property
    def low_word(self) -> int:
        """The low half of the descriptor of the tile's part at address 0 (PTX ISA, "Matrix
        Descriptor Format"); the address in units is to be added.

        From one block to the next is the leading offset. It is 1 and of no use where blocks follow
        each other along the sum, for an instruction stays in one.
        """
        return (1 if self.along_depth else self.rows * self._units) << _LEADING

    @property
    def high_word(self) -> int:
        """Its high half, the same at every address: the stride, from eight rows to the next eight,
        and the code of the swizzle."""
        return _ROWS * self._units | _ORDERS[self.width] << _ORDER

    @property
    def _units(self) -> int:
        """Units of a row of a block."""
        return self.width * _ELEMENT // UNIT
