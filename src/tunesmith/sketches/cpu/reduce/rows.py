"""Rows of neighbours in memory reduced to one element each, several rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.operators import element_bits
from tunesmith.sketches.cpu.reduce.combining import Combining
from tunesmith.sketches.cpu.rows.across import across, together
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.cpu.rows.elements import Elements
from tunesmith.sketches.tir import emit, shuffles
from tunesmith.sketches.tir.registers import Kept, Registers

# Shuffles within parts of this size of a vector are cheap on every machine.
_PART_BYTES = 16


def reduce_rows(
    buffers: Sequence[Any], combining: Combining, rows: int, sweep: Sweep, *, shared: bool
) -> None:
    """Emit the loop over the rows of the first buffer, whose results go to the second one.

    ``sweep.lanes`` rows at a time if there are as many, shared among the cores or not.
    """
    data, output = (Elements(buffer, combining.total) for buffer in buffers)
    group = sweep.lanes if rows >= sweep.lanes else 1
    loop = emit.parallel if shared else emit.serial
    with loop(emit.tile_count(rows, group), "task") as task:
        first = emit.bind("row", emit.tile_start(task, group, rows))
        kept = Kept(combining.total, sweep.lanes)
        vectors = [
            _row(data, combining, emit.bind("base", (first + row) * sweep.length), sweep)
            for row in range(group)
        ]
        if group == 1:
            value = across(vectors[0], sweep.lanes, combining.combine, kept)
        else:
            value = lane_by_lane(vectors, sweep.lanes, combining.total, combining.combine, kept)
        output.store(combining.finished(value, group), first, group)


def _row(data: Elements, combining: Combining, base: Any, sweep: Sweep) -> Any:
    """All vectors of a row, combined into one."""
    combine, lanes, dtype = combining.combine, sweep.lanes, combining.total
    none = combining.neutral_vector(lanes)
    many = sweep.side_by_side
    sofar = Registers("so_far", many, lanes, dtype)
    for vector in range(many):
        sofar[vector] = none

    def add(starts: Sequence[Any], fresh: int) -> None:
        for vector, start in enumerate(starts):
            value = data.load(base + start, lanes)
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
