"""Elements that lie apart in memory reduced: vectors along the axis of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.reduce.combining import Combining
from tunesmith.sketches.cpu.rows.across import together
from tunesmith.sketches.cpu.rows.elements import Elements
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Registers


@dataclass(frozen=True)
class Extents:
    """The extents of a tensor (outer, count, inner) whose middle axis is reduced."""

    outer: int
    count: int
    inner: int


@dataclass(frozen=True)
class Tile:
    """A tile of results: ``vectors`` of ``lanes``, side by side, of ``unroll`` sums each.

    The sums of a vector take turns, so that no addition waits for the one before.
    """

    lanes: int
    vectors: int
    unroll: int

    @property
    def size(self) -> int:
        """Results of a tile."""
        return self.lanes * self.vectors


def reduce_columns(
    buffers: Sequence[Any], combining: Combining, extents: Extents, tile: Tile, *, shared: bool
) -> None:
    """Emit the loop over the tiles of the second buffer, which is the first one reduced."""
    data, output = (Elements(buffer, combining.total) for buffer in buffers)
    tiles = emit.tile_count(extents.inner, tile.size)
    loop = emit.parallel if shared else emit.serial
    with loop(extents.outer * tiles, "task") as task:
        outer = emit.bind("outer", task // tiles)
        first = emit.bind("first", emit.tile_start(task % tiles, tile.size, extents.inner))
        base = emit.bind("base", outer * (extents.count * extents.inner) + first)
        for vector, value in enumerate(_tile(data, combining, base, extents, tile)):
            place = outer * extents.inner + first + vector * tile.lanes
            result = combining.finished(value, tile.lanes)
            output.store(result, place, tile.lanes)


def _tile(
    data: Elements, combining: Combining, base: Any, extents: Extents, tile: Tile
) -> list[Any]:
    """The vectors of a tile."""
    steps, rest = divmod(extents.count, tile.unroll)
    turns = [
        Registers("so_far", tile.vectors, tile.lanes, combining.total) for _ in range(tile.unroll)
    ]
    for sofar in turns:
        for vector in range(tile.vectors):
            sofar[vector] = combining.neutral_vector(tile.lanes)

    def add(begin: Any, count: int) -> None:
        for turn in range(count):
            for vector in range(tile.vectors):
                at = begin + (turn * extents.inner + vector * tile.lanes)
                value = data.load(at, tile.lanes)
                turns[turn][vector] = combining.combine(turns[turn][vector], value)

    if steps:
        with emit.serial(steps, "step") as step:
            add(emit.bind("begin", base + step * (tile.unroll * extents.inner)), tile.unroll)
    add(base + steps * (tile.unroll * extents.inner), rest)
    return [
        together([sofar[vector] for sofar in turns], combining.combine)
        for vector in range(tile.vectors)
    ]
