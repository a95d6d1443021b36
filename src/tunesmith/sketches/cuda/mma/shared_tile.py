"""Tiles of 16-bit elements in shared memory, in layouts without bank conflicts of ``ldmatrix``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CHUNK = 8
"""Elements of 16 bytes: a row of ``ldmatrix``, and the widest copy."""

SWIZZLED = "swizzled"
PADDED = "padded"
LAYOUTS = (SWIZZLED, PADDED)

# So many chunks are all 32 banks of four bytes.
_BANKS = 8


@dataclass(frozen=True)
class SharedTile:
    """``rows`` of ``columns`` elements each, as chunks.

    ``ldmatrix`` reads the same chunk of eight rows at a time, which must be in different banks. So
    either the chunks of a row are permuted in each of eight rows (``swizzled``: the number of a
    chunk is that xor the row's), or rows are longer by a chunk (``padded``).
    """

    rows: int
    columns: int
    layout: str

    @property
    def stride(self) -> int:
        """Elements from one row to the next."""
        return self.columns + (CHUNK if self.layout == PADDED else 0)

    @property
    def elements(self) -> int:
        """Elements of the whole tile."""
        return self.rows * self.stride

    def place(self, row: Any, chunk: Any) -> Any:
        """The index of the first element of a chunk of a row: numbers, or expressions."""
        if self.layout == PADDED:
            return row * self.stride + chunk * CHUNK
        chunks = self.columns // CHUNK
        order = row % _BANKS if chunks >= _BANKS else row // (_BANKS // chunks) % chunks
        return row * self.stride + (chunk ^ order) * CHUNK
