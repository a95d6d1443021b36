"""Windows as large as the image: each plane reduced, several planes at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.operators import Pool2d, element_bits
from tunesmith.sketches.cpu.pool.kernel import combination, neutral
from tunesmith.sketches.cpu.rows.across import across, together
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.tir import emit, shuffles
from tunesmith.sketches.tir.registers import Kept, Registers
from tunesmith.sketches.tir.weights import program_of

# Shuffles within parts of this size of a vector are cheap on every machine.
_PART_BYTES = 16


def whole_program(operator: Pool2d, lanes: int, unroll: int, *, shared: bool) -> Any:
    """The module: ``lanes`` planes at a time where there are as many, ``unroll`` vectors a step."""

    def main(buffers: Sequence[Any]) -> None:
        flat = [emit.flat(buffer) for buffer in buffers]
        planes = operator.n * operator.c
        group = lanes if planes >= lanes else 1
        loop = emit.parallel if shared else emit.serial
        with loop(emit.tile_count(planes, group), "task") as task:
            first = emit.bind("plane", emit.tile_start(task, group, planes))
            _planes(flat, operator, first, group, Sweep(math.prod(operator.kernel), lanes, unroll))

    return program_of(operator, main)


def _planes(buffers: Sequence[Any], operator: Pool2d, first: Any, count: int, sweep: Sweep) -> None:
    (data, output), lanes, dtype = buffers, sweep.lanes, operator.dtype
    kept, combine = Kept(dtype, lanes), combination(operator)
    vectors = []
    for plane in range(count):
        base = emit.bind("base", (first + plane) * sweep.length)
        vectors.append(_plane(operator, data, base, sweep))
    if count == 1:
        value, width = across(vectors[0], lanes, combine, kept), 1
    else:
        value, width = lane_by_lane(vectors, lanes, dtype, combine, kept), lanes
    if operator.kind == "avg":
        value = value * emit.constant(1 / sweep.length, dtype, width)
    emit.store(output, value, [first], width)


def _plane(operator: Pool2d, data: Any, base: Any, sweep: Sweep) -> Any:
    """All vectors of a plane, combined into one."""
    combine, lanes, dtype = combination(operator), sweep.lanes, operator.dtype
    none = emit.constant(neutral(operator), dtype, lanes)
    many = sweep.side_by_side
    sofar = Registers("so_far", many, lanes, dtype)
    for vector in range(many):
        sofar[vector] = none

    def add(starts: Sequence[Any], fresh: int) -> None:
        for vector, start in enumerate(starts):
            value = emit.load(data, [base + start], lanes)
            if fresh < lanes:
                old = range(lanes, 2 * lanes - fresh)
                value = shuffles.shuffled([value, none], [*old, *range(lanes - fresh, lanes)])
            sofar[vector] = combine(sofar[vector], value)

    sweep.each(add)
    return together([sofar[vector] for vector in range(many)], combine)


def lane_by_lane(
    vectors: Sequence[Any],
    lanes: int,
    dtype: str,
    combine: Callable[[Any, Any], Any],
    kept: Kept,
) -> Any:
    """``lanes`` vectors reduced: a vector with the result of each in a lane."""
    part = min(lanes, _PART_BYTES * 8 // element_bits(dtype))
    left, unit = list(vectors), 1
    while len(left) > 1:
        # First within parts of a vector, then whole parts of it.
        size = part if unit == 1 else lanes
        if unit == 1 and len(left) * part == lanes:
            unit, size = part, lanes
        picks = _neighbours(lanes, size, unit)
        left = [
            kept("pair", combine(*(shuffles.shuffled(pair, side) for side in picks)), lanes)
            for pair in zip(left[::2], left[1::2], strict=True)
        ]
    return left[0]


def _neighbours(lanes: int, size: int, unit: int) -> tuple[list[int], list[int]]:
    """The lanes of two vectors that are combined: the even and the odd units, for each ``size``
    lanes those of the first vector, then those of the second."""
    picks: tuple[list[int], list[int]] = ([], [])
    for offset in range(0, lanes, size):
        for vector in (0, lanes):
            for at in range(0, size, 2 * unit):
                for side in (0, 1):
                    begin = vector + offset + at + side * unit
                    picks[side].extend(range(begin, begin + unit))
    return picks
