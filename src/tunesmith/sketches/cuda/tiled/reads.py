"""The loads of a thread for an unrolled part of its sums, and the bank conflicts of its warp."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tunesmith.sketches.cuda.estimates.banks import lines, wavefronts
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.tiled.block_tiling import DIMENSIONS, Tiling
from tunesmith.sketches.tir.loop_nest import Access

# A word of shared memory, and the bytes that a thread reads there at a time, at the most.
_WORD, _WIDEST = 4, 16
# Instructions of a load whose index or padding is computed for each element.
_COMPUTED_LOAD = 7


@dataclass(frozen=True)
class Reads:
    """``elements`` are read by ``loads``, each of ``instructions`` and of ``wavefronts`` of a warp;
    ``factors`` are the elements of one term of each sum."""

    elements: int
    factors: int
    loads: float
    instructions: int
    wavefronts: int


def reads_of(tiling: Tiling, access: Access, size: int, unrolled: Mapping[str, int]) -> Reads:
    """Of an input with elements of ``size`` bytes; ``unrolled`` is how much of each axis of the
    sum is."""
    own = {axis: parts[3] for axis, parts in tiling.spatial.items()}
    # Those of its virtual threads lie apart.
    copies = math.prod(
        parts[1] for axis, parts in tiling.spatial.items() if axis in access.all_axes
    )
    reached = {**own, **unrolled}
    elements = copies * access.elements(reached)
    factors = copies * access.elements(own)
    staged = access.buffer in tiling.staged
    strides = _strides(access.box(tiling.step) if staged else access.shape)
    places = _places(tiling, access, strides)
    if not staged:
        instructions = _COMPUTED_LOAD if access.produced or any(access.groups) else 1
        met = lines(tuple(place * size for place in places))
        return Reads(elements, factors, elements, instructions, met)
    width = math.gcd(_aligned(access, reached, strides, places), _WIDEST // size)
    words = tuple(place * size // _WORD for place in places)
    met = wavefronts(words, max(1, width * size // _WORD))
    return Reads(elements, factors, elements / width, 1, met)


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def _aligned(
    access: Access, reached: Mapping[str, int], strides: Sequence[int], places: Sequence[int]
) -> int:
    """How many neighbours can be read at a time: a thread has as many, wherever it begins."""
    run, apart = 1, list(places)
    for d, span in reversed(list(enumerate(access.box(reached)))):
        dense = all(abs(by) == 1 or reached.get(axis, 1) == 1 for axis, by in access.steps[d])
        if strides[d] == run and dense:
            run *= span
        else:
            apart.append(strides[d])
    return math.gcd(run, *apart)


def _places(tiling: Tiling, access: Access, strides: Sequence[int]) -> tuple[int, ...]:
    """Where each thread of a warp begins to read, in elements."""
    by_axis: dict[str, int] = {}
    for stride, steps in zip(strides, access.steps, strict=True):
        for axis, by in steps:
            by_axis[axis] = by_axis.get(axis, 0) + stride * by
    moves = []
    for dimension in DIMENSIONS:
        for axis, parts in reversed(list(tiling.spatial.items())):
            if tiling.places[axis] == dimension and parts[2] > 1:
                moves.append((parts[2], by_axis.get(axis, 0) * parts[3]))
        if dimension == "y" and tiling.sliced is not None and tiling.slices > 1:
            inner = math.prod(tiling.reduction[tiling.sliced][1:])
            moves.append((tiling.slices, by_axis.get(tiling.sliced, 0) * inner))
    return _of_a_warp(tuple(moves))


@lru_cache(maxsize=4096)
def _of_a_warp(moves: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Where the first threads of a block are that count through ``moves``, the first one fastest.

    Each is how many threads there are before the next one moves, and how far one is from another.
    """
    places = []
    for thread in range(min(WARP, math.prod(count for count, _ in moves))):
        place, rest = 0, thread
        for count, distance in moves:
            place += rest % count * distance
            rest //= count
        places.append(place)
    return tuple(places)
