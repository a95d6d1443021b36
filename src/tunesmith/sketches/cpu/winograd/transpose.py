"""Matrices transposed in registers, by shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.sketches.tir import emit, shuffles


def transposed(rows: Sequence[Any], lanes: int) -> list[Any]:
    """The columns of a matrix whose rows are vectors of ``lanes`` elements.

    The number of rows, a power of two, is the length of a column. Vectors of the result are as long
    as a row or a column, whichever is longer, and hold whole columns: stored one after the other
    they are the transposed matrix.
    """
    longest = max(len(rows), lanes)
    # For each group of neighbouring rows: the parts of its columns, in vectors.
    groups, height = [[row] for row in rows], 1
    while len(groups) > 1:
        pairs = zip(groups[::2], groups[1::2], strict=True)
        groups = [_interleaved(upper, lower, height, longest) for upper, lower in pairs]
        height *= 2
    return groups[0]


def columns_of(matrix: Sequence[Any], height: int) -> list[Any]:
    """What ``transposed`` gave, with a vector for each column."""
    found = []
    for vector in matrix:
        count = _lanes(vector) // height
        if count == 1:
            found.append(vector)
            continue
        for column in range(count):
            lanes = range(column * height, (column + 1) * height)
            found.append(emit.bind("column", shuffles.shuffled([vector], list(lanes))))
    return found


def store_all(target: Any, vectors: Sequence[Any], index: Sequence[Any]) -> None:
    """Store vectors one after the other, from an index on."""
    *outer, place = index
    for vector in vectors:
        emit.store(target, vector, [*outer, place], _lanes(vector))
        place = place + _lanes(vector)


def _interleaved(
    upper: Sequence[Any], lower: Sequence[Any], height: int, longest: int
) -> list[Any]:
    """The columns of two groups of rows, each with its parts of both."""
    found = []
    for above, below in zip(upper, lower, strict=True):
        lanes = _lanes(above)
        order = [
            half + column + lane
            for column in range(0, lanes, height)
            for half in (0, lanes)
            for lane in range(height)
        ]
        for start in range(0, len(order), longest):
            part = shuffles.shuffled([above, below], order[start : start + longest])
            found.append(emit.bind("turned", part))
    return found


def _lanes(vector: Any) -> int:
    return int(vector.ty.dtype.lanes)
