"""Default tiles, by rules that need no measurement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.tiled.block_tiling import Parts
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.loop_nest import Axis, LoopNest

# As many blocks as the largest GPUs have multiprocessors, or nearly.
_BLOCKS = 128
# Two blocks of this size keep the arithmetic of every GPU's multiprocessor busy.
_THREADS = 256
# How many sums a thread has, and the least share of a block for that: the more, the fewer loads for
# each of them. Small problems need enough blocks and threads first.
_SUMS = ((64, 16384), (32, 8192), (16, 4096), (8, 1024), (4, 128), (1, 0))
# Along one axis.
_MOST_SUMS = 8
# Neighbours in shared memory that a thread reads at once without bank conflicts.
_TOGETHER = 4
# The most of an axis of the sum in shared memory at a time, and the length of a step's code.
_STEP = 8
_CODE = 1024
# Shorter sums are not split into slices.
_SHARED_SUM = 64
_SLICES = 8


def default_tiles(
    nest: LoopNest,
    fits: Callable[[Mapping[str, Parts]], bool],
    *,
    whole: Container[str],
    pairs: Container[str],
    depth: int,
    sliced: str | None,
) -> dict[str, Parts]:
    """Four factors for each spatial axis of a nest, and ``depth`` for each axis of the sum.

    The axis that may be ``sliced`` has one more. Axes that are ``whole`` are left out, and along
    ``pairs`` a thread has one element. There are enough blocks for all multiprocessors if the
    problem is large enough; a thread's sums are tiled so that it loads as little as possible.
    Everything is smaller where a block exceeds the limits, down to one element.
    """
    axes = [axis for axis in nest.spatial if axis.name not in whole]
    share = math.prod(axis.extent for axis in axes) // _BLOCKS
    sums = next(sums for sums, least in _SUMS if share >= least)
    threads = min(_THREADS, max(WARP, share // sums))
    tiles: dict[str, Parts] = {}
    for count, most in ((threads, sums), (threads, 4), (threads, 1), (WARP, 1), (8, 1), (1, 1)):
        tiles = _spatial(nest, axes, pairs, count, most)
        own = math.prod(parts[1] * parts[3] for parts in tiles.values())
        used = math.prod(parts[2] for parts in tiles.values())
        virtual = any(parts[1] > 1 for parts in tiles.values())
        slices = _slices(nest, sliced, _THREADS if virtual or own >= _MOST_SUMS else used)
        for step in _steps(nest, sliced, slices):
            long = own * math.prod(step.values()) > _CODE
            for axis in nest.reduction:
                inner, of_slices = step[axis.name], slices if axis.name == sliced else 1
                steps = axis.extent // inner // of_slices
                middle = (of_slices,) if axis.name == sliced else ()
                tiles[axis.name] = (steps, *middle, inner, *(1,) * (depth - 2))
            if not long and fits(tiles):
                return tiles
    return tiles


def _spatial(
    nest: LoopNest, axes: Sequence[Axis], pairs: Container[str], threads: int, sums: int
) -> dict[str, Parts]:
    """Four factors for each axis: threads along the fastest axis first, then sums of a thread."""
    row = WARP // 2 if sums >= 4 * _TOGETHER else WARP
    bound, own = {}, dict.fromkeys((axis.name for axis in axes), 1)
    for axis in reversed(axes):
        bound[axis.name] = emit.largest_divisor(axis.extent, min(row, threads))
        threads //= bound[axis.name]
    while True:
        grown = [
            {**own, axis.name: more}
            for axis in axes
            if axis.name not in pairs
            and (more := _next(axis.extent // bound[axis.name], own[axis.name])) <= _MOST_SUMS
            and math.prod(own.values()) // own[axis.name] * more <= sums
        ]
        best = min(grown, key=lambda tile: _reads(nest, tile), default=own)
        if _reads(nest, best) >= _reads(nest, own):
            break
        own = best
    tiles: dict[str, Parts] = {}
    for axis in axes:
        together = own[axis.name]
        if axis is axes[-1]:
            together = emit.largest_divisor(together, _TOGETHER)
        rest = axis.extent // bound[axis.name] // own[axis.name]
        tiles[axis.name] = (rest, own[axis.name] // together, bound[axis.name], together)
    return tiles


def _next(extent: int, divisor: int) -> int:
    """The next larger divisor that is a multiple; one too large where there is none."""
    multiples = range(2 * divisor, _MOST_SUMS + 1, divisor)
    return next((more for more in multiples if extent % more == 0), _MOST_SUMS + 1)


def _reads(nest: LoopNest, tile: Mapping[str, int]) -> float:
    """The loads of a thread for each of its sums."""
    return sum(access.elements(tile) for access in nest.inputs) / math.prod(tile.values())


def _slices(nest: LoopNest, sliced: str | None, threads: int) -> int:
    """How many slices a block needs to have enough threads."""
    if sliced is None or math.prod(axis.extent for axis in nest.reduction) < _SHARED_SUM:
        return 1
    extent = next(axis.extent for axis in nest.reduction if axis.name == sliced)
    return emit.largest_divisor(extent, max(1, min(_SLICES, _THREADS // threads)))


def _steps(nest: LoopNest, sliced: str | None, slices: int) -> Iterator[dict[str, int]]:
    """How much of each axis of the sum a step has: less and less, of the slowest axis first."""
    sizes = []
    for axis in nest.reduction:
        extent = axis.extent // slices if axis.name == sliced else axis.extent
        most = max(1, _STEP // slices) if axis.name == sliced else _STEP
        options = [
            emit.largest_divisor(extent, most // less) for less in (1, 2, 4, 8) if most >= less
        ]
        sizes.append(list(dict.fromkeys([*options, 1])))
    for step in itertools.product(*reversed(sizes)):
        yield dict(zip((axis.name for axis in nest.reduction), reversed(step), strict=True))
