"""A reduction scheduled for a GPU: threads sum in registers what blocks stage in shared memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.compiler.passes.loop_peeling import PEEL_LAST
from tunesmith.sketches.cuda.tiled.block_tiling import DIMENSIONS, Tiling
from tunesmith.sketches.tir.loop_nest import Access, LoopNest, output_stage

# The slowest first, as loops are nested.
_NESTED = DIMENSIONS[::-1]
_PARTS = ("blockIdx", "vthread", "threadIdx")


def schedule_nest(schedule: Any, nest: LoopNest, tiling: Tiling, scope: str = "shared") -> None:
    """Schedule one reduction of a function and the stages around it, as far as the nest has them.

    ``scope`` is where inputs are staged. Raises what TVM raises where the tiling is impossible.
    """
    sums = schedule.get_sblock(nest.block)
    copies = stage_inputs(schedule, sums, nest, tiling, scope)
    output = output_stage(schedule, sums, nest, "local")
    outermost, threads = _bind_output(schedule, output, nest, tiling)
    schedule.compute_at(sums, threads[-1], preserve_unit_loops=True)
    count = len(nest.spatial) + len(nest.reduction)
    loops: Sequence[Any] = schedule.get_loops(sums)[-count:]
    spatial, reduction = loops[: len(nest.spatial)], loops[len(nest.spatial) :]
    split = [
        schedule.split(loop, list(tiling.reduction[axis.name]))
        for axis, loop in zip(nest.reduction, reduction, strict=True)
    ]
    levels = [[parts[level] for parts in split] for level in range(tiling.depth)]
    sum_in_steps(schedule, sums, SumLoops(outermost, levels, spatial), copies, tiling)
    _write_vectors(schedule, output, tiling)


@dataclass(frozen=True)
class SumLoops:
    """The loop over ``blocks``, and those of a thread's sums.

    ``levels`` are the loops of each level of the sum, those of the steps first, ``tile`` those over
    a thread's sums.
    """

    blocks: Any
    levels: Sequence[Sequence[Any]]
    tile: Sequence[Any]


@dataclass(frozen=True)
class Copies:
    """The stages that copy inputs: to shared memory, and from there to a thread's registers."""

    shared: Sequence[tuple[Any, Access]]
    own: Sequence[Any]


def stage_inputs(schedule: Any, sums: Any, nest: LoopNest, tiling: Tiling, scope: str) -> Copies:
    """Let the sums read copies of inputs; padding happens where these are made."""
    shared = [
        (schedule.cache_read(sums, place, scope), access)
        for place, access in enumerate(nest.inputs)
        if access.buffer in tiling.staged
    ]
    # The indices of the sums' reads do not depend on what is read.
    own = [
        schedule.cache_read(sums, place, "local")
        for place, access in enumerate(nest.inputs)
        if tiling.depth > 2 and access.buffer in tiling.staged
    ]
    for name in nest.producers:
        schedule.compute_inline(schedule.get_sblock(name))
    return Copies(shared, own)


def sum_in_steps(
    schedule: Any,
    sums: Any,
    loops: SumLoops,
    copies: Copies,
    tiling: Tiling,
) -> None:
    """Order the loops of a thread's sums: steps outside, what it does in each of them inside."""
    levels = loops.levels
    schedule.reorder(*(loop for level in levels for loop in level), *loops.tile)
    steps = levels[0] if tiling.stages == 1 else [schedule.fuse(*levels[0])]
    for copy in copies.own:
        schedule.compute_at(copy, levels[1][-1], preserve_unit_loops=True)
    for copy, access in copies.shared:
        schedule.compute_at(copy, steps[-1], preserve_unit_loops=True)
        _copy_together(schedule, copy, access, tiling)
    unroll(schedule, loops.tile)
    # A pipeline has further loops, which TVM must unroll in any case.
    place = loops.blocks if tiling.stages == 1 else levels[1][0]
    schedule.annotate(place, "pragma_auto_unroll_max_step", tiling.auto_unroll_max_step)
    schedule.annotate(place, "pragma_unroll_explicit", int(tiling.unroll_explicit))
    schedule.decompose_reduction(sums, steps[0])
    if tiling.stages > 1:
        _run_ahead(schedule, steps[0], [copy for copy, _ in copies.shared], tiling)


def unroll(schedule: Any, own: Sequence[Any]) -> None:
    """Unroll the loops over a thread's sums, whatever a config says of longer loops.

    Sums are in registers only where each index is constant.
    """
    for loop in own:
        schedule.unroll(loop)


def _run_ahead(schedule: Any, step: Any, copies: Sequence[Any], tiling: Tiling) -> None:
    """Pipeline the copies: those of a step come before the sums of earlier steps."""
    count = len(copies)
    if tiling.asynchronous:
        stage, order = [0] * count + [tiling.stages - 1], list(range(count + 1))
        schedule.annotate(step, "software_pipeline_async_stages", [0])
    else:
        # Each copy is a load to registers and a store from there, with the sums in between.
        for copy in copies:
            schedule.annotate(copy, "tirx.manifest_shared_memory_local_stage", 1)
        stage = [0, 0] * count + [1]
        places = ((one, count + 1 + one) for one in range(count))
        order = [*itertools.chain.from_iterable(places), count]
    schedule.annotate(step, "software_pipeline_stage", stage)
    schedule.annotate(step, "software_pipeline_order", order)


def _bind_output(
    schedule: Any, output: Any, nest: LoopNest, tiling: Tiling
) -> tuple[Any, list[Any]]:
    """Bind the loops of the result: the outermost one, and those of the threads."""
    parts = {
        axis.name: schedule.split(loop, list(tiling.spatial[axis.name]))
        for axis, loop in zip(nest.spatial, schedule.get_loops(output), strict=True)
    }
    placed = {d: [axis for axis in parts if tiling.places[axis] == d] for d in _NESTED}
    ordered = [parts[axis][part] for part in range(4) for d in _NESTED for axis in placed[d]]
    schedule.reorder(*ordered)
    bound: list[list[Any]] = []
    for part, words in enumerate(_PARTS):
        bound.append([])
        for dimension in _NESTED:
            loops = [parts[axis][part] for axis in placed[dimension]]
            if loops:
                fused = schedule.fuse(*loops, preserve_unit_iters=True)
                schedule.bind(fused, f"{words}.{dimension}")
                bound[-1].append(fused)
    return bound[0][0], bound[2]


def _copy_together(schedule: Any, copy: Any, access: Access, tiling: Tiling) -> None:
    """Let all threads of a block copy their share of an input."""
    rank = len(schedule.get(copy).iter_vars)
    fused = schedule.fuse(*schedule.get_loops(copy)[-rank:])
    x, y, z = tiling.along(2)
    width = tiling.copy_width(access)
    outer, *threads, vector = schedule.split(fused, [None, z, y, x, width])
    iterations, rest = divmod(tiling.shared_elements(access), x * y * z * width)
    if iterations and rest:
        peel_last_iteration(schedule, outer)
    for dimension, loop in zip(_NESTED, threads, strict=True):
        schedule.bind(loop, f"threadIdx.{dimension}")
    if width > 1:
        schedule.vectorize(vector)


def peel_last_iteration(schedule: Any, outer: Any) -> None:
    """Peel the last iteration of a loop, in which some threads have nothing left to copy.

    With a condition in all iterations, a thread would wait in each for its loads.
    """
    schedule.annotate(outer, PEEL_LAST, 1)


def _write_vectors(schedule: Any, output: Any, tiling: Tiling) -> None:
    """Let a thread write neighbouring elements of the result together."""
    *own, innermost = schedule.get_loops(output)[-len(tiling.spatial) :]
    width = math.gcd(int(schedule.get(innermost).extent), tiling.write_vector)
    if width > 1:
        innermost, vector = schedule.split(innermost, [None, width])
        schedule.vectorize(vector)
    unroll(schedule, [*own, innermost])
