"""Tiles in shared memory: every element has a place of its own, and no two rows meet in a bank."""

from __future__ import annotations

import pytest

from tunesmith.sketches.cuda.mma.shared_tile import CHUNK, LAYOUTS, PADDED, SharedTile

SIZES = [(16, 16), (64, 32), (128, 64), (32, 128), (16, 256)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_every_chunk_has_a_place_of_its_own(layout: str, rows: int, columns: int) -> None:
    tile = SharedTile(rows, columns, layout)
    places = [tile.place(row, chunk) for row in range(rows) for chunk in range(columns // CHUNK)]
    assert len(set(places)) == len(places)
    assert all(place % CHUNK == 0 and 0 <= place < tile.elements for place in places)
    assert tile.elements == rows * (columns + (CHUNK if layout == PADDED else 0))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_rows_that_are_read_together_are_in_all_banks(layout: str, rows: int, columns: int) -> None:
    """``ldmatrix`` reads a chunk of eight rows at a time: 128 bytes, a turn of all banks."""
    tile = SharedTile(rows, columns, layout)
    for first in range(0, rows, 8):
        for chunk in range(columns // CHUNK):
            banks = {tile.place(first + row, chunk) // CHUNK % 8 for row in range(8)}
            assert len(banks) == 8


def test_rows_without_a_layout_would_meet() -> None:
    """What the two layouts are for: plain rows of 64 bytes take turns at a quarter of the banks."""
    assert {row * 32 // CHUNK % 8 for row in range(8)} == {0, 4}
