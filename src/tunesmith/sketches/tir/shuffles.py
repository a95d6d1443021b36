"""Shuffles of vectors, and transpositions made of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tunesmith.sketches.tir import emit

# Lanes of 32 bits in a vector of two halves of 128 bits.
_HALVED_LANES = 8


def shuffled(vectors: Sequence[Any], lanes: Sequence[int]) -> Any:
    """The ``lanes`` of a concatenation of vectors."""
    from tvm import tirx

    return tirx.Shuffle(list(vectors), list(_lane_constants(tuple(lanes))))


@cache
def _lane_constants(lanes: tuple[int, ...]) -> tuple[Any, ...]:
    """Numbers of lanes as TIR has them. A program has thousands, of a few shuffles."""
    from tvm import tirx

    return tuple(tirx.IntImm("int32", lane) for lane in lanes)


def riffled(vectors: Sequence[Any], lanes: int) -> list[Any]:
    """The lanes of the first half of the vectors interleaved with those of the second half.

    That rotates the bits of an element's number (its vector, its lane) by one. ``log2(count)``
    times it transposes ``count`` rows of ``lanes`` columns: the vectors then hold column by column.
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
    if lanes == 1 or len(rows) == 1:
        return vectors
    if lanes == _HALVED_LANES and len(rows) <= lanes and _bits(vectors[0]) == 32:
        return _turned_in_halves(vectors)
    for _ in range(len(rows).bit_length() - 1):
        vectors = [emit.bind("turned", vector) for vector in riffled(vectors, lanes)]
    return vectors


def _bits(vector: Any) -> int:
    """Bits of a lane."""
    return int(vector.ty.dtype.bits)


def _turned_in_halves(vectors: list[Any]) -> list[Any]:
    """``turned`` for vectors of 256 bits, of 8 lanes.

    AVX2 moves lanes of two vectors within halves of 128 bits, or whole halves, in one instruction.
    Interleaving takes two of these; here each step is one, a third to a half as many in all. It
    swaps a bit of the vectors' numbers with one of the lanes'.
    """
    within = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
    pairs = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    halves = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
    count = len(vectors)
    vectors = _exchanged(vectors, 1, within)
    if count > 2:
        vectors = _exchanged(vectors, 2, pairs)
    vectors = _exchanged(vectors, count // 2, halves)
    # The first two steps left the lowest bits of eight vectors' numbers the other way round.
    return [vectors[number] for number in (0, 2, 1, 3, 4, 6, 5, 7)] if count == 8 else vectors


def _exchanged(
    vectors: Sequence[Any], apart: int, lanes: tuple[Sequence[int], Sequence[int]]
) -> list[Any]:
    """Lanes of each two vectors whose numbers are ``apart``: for the first one and the other."""
    found = list(vectors)
    for number in range(len(vectors)):
        if number & apart == 0:
            both = [vectors[number], vectors[number + apart]]
            for place, chosen in zip((number, number + apart), lanes, strict=True):
                found[place] = emit.bind("turned", shuffled(both, chosen))
    return found
