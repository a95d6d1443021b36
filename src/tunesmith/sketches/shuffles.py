"""Vectors whose lanes change places: programs written loop by loop, see ``emit``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.sketches import emit


def shuffled(vectors: Sequence[Any], lanes: Sequence[int]) -> Any:
    """The lanes of that number among those of all the vectors, one after the other."""
    from tvm import tirx

    places = [tirx.IntImm("int32", lane) for lane in lanes]
    return tirx.Shuffle(list(vectors), places)


def riffled(vectors: Sequence[Any], lanes: int) -> list[Any]:
    """The lanes of the first half of the vectors alternating with those of the second half.

    That rotates the bits of an element's number (its vector, its lane) by one. So ``log2(count)``
    times it turns so many rows of ``lanes`` columns around: the vectors, one after the other, then
    hold column by column.
    """
    half = len(vectors) // 2
    low = [lane // 2 + lanes * (lane % 2) for lane in range(lanes)]
    high = [lane + lanes // 2 for lane in low]
    return [
        shuffled([first, second], part)
        for first, second in zip(vectors[:half], vectors[half:], strict=True)
        for part in (low, high)
    ]


def turned(rows: Sequence[Any], lanes: int) -> list[Any]:
    """The columns of a power of two of rows, packed one after the other into as many vectors."""
    vectors = [emit.bind("row", row) for row in rows]
    if lanes == 1:
        return vectors
    for _ in range(len(rows).bit_length() - 1):
        vectors = [emit.bind("turned", vector) for vector in riffled(vectors, lanes)]
    return vectors
