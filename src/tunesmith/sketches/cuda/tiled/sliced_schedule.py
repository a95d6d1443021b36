"""A reduction scheduled for a GPU whose sums are long: several threads share each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.sketches.cuda.tiled.block_tiling import Tiling
from tunesmith.sketches.cuda.tiled.schedule import (
    SumLoops,
    stage_inputs,
    sum_in_steps,
    unroll,
)
from tunesmith.sketches.tir.loop_nest import LoopNest, output_stage


def schedule_in_slices(schedule: Any, nest: LoopNest, tiling: Tiling, scope: str) -> None:
    """Schedule one reduction of a function, for a tiling with ``slices`` along y.

    ``scope`` is where inputs are staged.

    Each slice of a block has its own part of every step, and the same tile as the others. At the
    end all store their sums in shared memory, and the block's threads add them up.
    Raises what TVM raises where the tiling is impossible.
    """
    totals = schedule.get_sblock(nest.block)
    partial = _partial_sums(schedule, totals, nest, tiling)
    copies = stage_inputs(schedule, partial, nest, tiling, scope)
    written = schedule.cache_write(partial, 0, "local")
    schedule.set_scope(written, 0, scope)

    output = output_stage(schedule, totals, nest, "local")
    block, tile = _bind_blocks(schedule, output, nest, tiling)
    # Before the block's part of the output is split in another way than the sums.
    for stage in (totals, written):
        schedule.compute_at(stage, block, preserve_unit_loops=True)
    schedule.compute_at(totals, _share_out(schedule, tile, tiling), preserve_unit_loops=True)
    thread = _bind_partial(schedule, written, nest, tiling)
    schedule.compute_at(partial, thread, preserve_unit_loops=True)

    reduction = len(nest.reduction) + 1  # that of the sliced axis is split already
    loops = schedule.get_loops(partial)[-(1 + len(nest.spatial) + reduction) :]
    spatial, rest = loops[: 1 + len(nest.spatial)], list(loops[1 + len(nest.spatial) :])
    levels: list[list[Any]] = [[], []]
    for axis in nest.reduction:
        if axis.name == tiling.sliced:
            steps, inner = rest.pop(0), rest.pop(0)
        else:
            steps, inner = schedule.split(rest.pop(0), list(tiling.reduction[axis.name]))
        levels[0].append(steps)
        levels[1].append(inner)
    sum_in_steps(schedule, partial, SumLoops(block, levels, spatial), copies, tiling)


def _partial_sums(schedule: Any, totals: Any, nest: LoopNest, tiling: Tiling) -> Any:
    """A stage of its own for the sums of each slice, which become its first axis."""
    place = [axis.name for axis in nest.reduction].index(str(tiling.sliced))
    loop = schedule.get_loops(totals)[len(nest.spatial) + place]
    steps, inner = tiling.reduction[str(tiling.sliced)]
    _, middle, _ = schedule.split(loop, [steps, tiling.slices, inner])
    return schedule.rfactor(middle, 0)


def _bind_blocks(
    schedule: Any, output: Any, nest: LoopNest, tiling: Tiling
) -> tuple[Any, list[Any]]:
    """Share out the result among blocks: the loop over them, and those of a block's part."""
    outer, inner = [], []
    for axis, loop in zip(nest.spatial, schedule.get_loops(output), strict=True):
        blocks, tile = schedule.split(loop, [tiling.spatial[axis.name][0], None])
        outer.append(blocks)
        inner.append(tile)
    schedule.reorder(*outer, *inner)
    block = schedule.fuse(*outer)
    schedule.bind(block, "blockIdx.x")
    return block, inner


def _share_out(schedule: Any, tile: Sequence[Any], tiling: Tiling) -> Any:
    """Split a block's part of the result among its threads; returns the loop of a thread's turns.

    Unlike for the sums, neighbouring threads have neighbouring elements.
    """
    threads, slices, _ = tiling.along(2)
    turn, *bound = schedule.split(schedule.fuse(*tile), [None, slices, threads])
    schedule.reorder(*bound, turn)
    for loop, dimension in zip(bound, "yx", strict=True):
        schedule.bind(loop, f"threadIdx.{dimension}")
    return turn


def _bind_partial(schedule: Any, written: Any, nest: LoopNest, tiling: Tiling) -> Any:
    """Share out a block's sums: slices along y, tiles along x. Returns the loop over threads."""
    count = 1 + len(nest.spatial)
    slices, *tile = schedule.get_loops(written)[-count:]
    parts: list[Sequence[Any]] = [
        schedule.split(loop, list(tiling.spatial[axis.name][1:]))
        for axis, loop in zip(nest.spatial, tile, strict=True)
    ]
    virtual, threads, own = zip(*parts, strict=True)
    schedule.reorder(slices, *virtual, *threads, *own)
    unroll(schedule, own)
    schedule.bind(slices, "threadIdx.y")
    schedule.bind(schedule.fuse(*virtual), "vthread.x")
    thread = schedule.fuse(*threads)
    schedule.bind(thread, "threadIdx.x")
    return thread
