"""Blocks of a matrix, transposed by shuffles of vectors in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.sketches.tir import emit, shuffles


def pieces(extent: int, most: int) -> list[tuple[int, int]]:
    """Starts and lengths, powers of two up to ``most``, that cover an extent.

    A remainder that is no power of two is covered by a piece that overlaps its neighbour.
    """
    size = min(emit.power_of_two(extent), most)
    found = [(start, size) for start in range(0, extent - size + 1, size)]
    rest = extent % size
    if rest:
        narrow = emit.power_of_two(rest)
        exact = narrow == rest
        found.append((extent - rest, rest) if exact else (extent - size, size))
    return found


def transposed(rows: Sequence[Any], lanes: int) -> list[Any]:
    """The columns of rows of ``lanes`` elements, whose number is a power of two up to that."""
    count = len(rows)
    vectors = shuffles.turned(rows, lanes)
    if count == lanes:
        return vectors
    starts = range(0, lanes * count, count)
    return [
        shuffles.shuffled([vectors[start // lanes]], range(start % lanes, start % lanes + count))
        for start in starts
    ]
