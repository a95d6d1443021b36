"""Tiles that a careful person writes down without trying."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from tunesmith.sketches.cuda.block_tiling import Parts
from tunesmith.sketches.loop_nest import Axis, LoopNest

# Two blocks of so many threads keep the arithmetic of every GPU's multiprocessor busy; and what a
# thread does along each axis but the fastest, so that it reads less than it computes. Less of both
# where a block cannot have that, down to one element a block.
_SIZES = ((256, 4), (256, 1), (64, 1), (8, 1), (1, 1))
# A row of threads that reads neighbours from memory, as wide as a warp at the most.
_ROW = 32
# How much of a sum is in shared memory at a time.
_STEP = 8


def default_tiles(
    nest: LoopNest,
    whole: Container[str],
    pairs: Container[str],
    depth: int,
    fits: Callable[[Mapping[str, Parts]], bool],
) -> dict[str, Parts]:
    """Four factors for each spatial axis of a nest, and ``depth`` for each axis of the sum.

    Threads lie along the fastest axis first. Along the others, of which the channels or the rows
    are, a thread does several steps, but not along ``pairs``; axes that are ``whole`` are left out.
    As much of the sum is in shared memory at a time as ``fits``, one step of it in registers.
    """
    axes = [axis for axis in nest.spatial if axis.name not in whole]
    tiles: dict[str, Parts] = {}
    for threads, most in _SIZES:
        tiles = _spatial(axes, pairs, threads, most)
        for step in range(_STEP, 0, -1):
            for axis in nest.reduction:
                inner = largest_divisor(axis.extent, step)
                tiles[axis.name] = (axis.extent // inner, inner, *(1,) * (depth - 2))
            if fits(tiles):
                return tiles
    return tiles


def _spatial(
    axes: Sequence[Axis], pairs: Container[str], threads: int, most: int
) -> dict[str, Parts]:
    """Four factors for each axis, for so many threads that do ``most`` steps of an axis each."""
    tiles: dict[str, Parts] = {}
    for axis in reversed(axes):
        row = largest_divisor(axis.extent, min(_ROW, threads))
        threads //= row
        rest = axis.extent // row
        alone = axis is axes[-1] or axis.name in pairs
        inner = 1 if alone else largest_divisor(rest, most)
        tiles[axis.name] = (rest // inner, 1, row, inner)
    return tiles


def largest_divisor(extent: int, most: int) -> int:
    """The largest divisor of an extent that is no more than ``most``."""
    return max(d for d in range(1, most + 1) if extent % d == 0)
