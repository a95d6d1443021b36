"""Tiles along an image axis: those inside of the image, and those at its edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import DepthwiseConv2d, Pool2d
from tunesmith.sketches.tir import emit


@dataclass(frozen=True)
class Axis:
    """Windows along one axis of an image of ``size``: ``count`` outputs of ``taps`` inputs each.

    ``padding`` is that before the image. How much there is behind it follows from the windows.
    """

    size: int
    count: int
    taps: int
    stride: int
    padding: int
    dilation: int

    @property
    def reach(self) -> int:
        """From the first input of a window to its last."""
        return (self.taps - 1) * self.dilation

    @property
    def padded(self) -> bool:
        """Whether any window has padding."""
        last = (self.count - 1) * self.stride + self.reach
        return self.padding > 0 or last - self.padding >= self.size


def axes_of(operator: DepthwiseConv2d | Pool2d) -> tuple[Axis, Axis]:
    """Rows and columns of an operator's images."""
    dilation = operator.dilation if isinstance(operator, DepthwiseConv2d) else (1, 1)
    rows, columns = (
        Axis(*numbers)
        for numbers in zip(
            (operator.h, operator.w),
            operator.output_image,
            operator.kernel,
            operator.stride,
            operator.padding[:2],
            dilation,
            strict=True,
        )
    )
    return rows, columns


@dataclass(frozen=True)
class Tiles:
    """The tiles of ``size`` outputs along an axis; the last one overlaps its neighbour.

    Those at the edges of the image, which start at ``before`` and ``after``, have code of their
    own, so that it is known which taps are padding. The others, tiles number ``first`` to
    ``first + inner - 1``, are a loop.
    """

    size: int
    count: int
    before: tuple[int, ...]
    first: int
    inner: int
    after: tuple[int, ...]

    @property
    def bodies(self) -> int:
        """How often the code of a tile is written."""
        return len(self.before) + (self.inner > 0) + len(self.after)

    def start(self, tile: Any) -> Any:
        """Where an inner tile starts."""
        return emit.tile_start(tile + self.first, self.size, self.count)


def tiles_of(axis: Axis, size: int, low: int, high: int, *, masked: bool) -> Tiles:
    """The tiles of ``size`` outputs along an axis.

    A tile that starts at output o reads the inputs from o * stride + low to before
    o * stride + high. Where loads are ``masked``, all tiles are inner ones.
    """
    count = emit.tile_count(axis.count, size)
    if masked:
        return Tiles(size, axis.count, (), 0, count, ())
    starts = [min(tile * size, axis.count - size) for tile in range(count)]
    inside = [
        start * axis.stride + low >= 0 and start * axis.stride + high <= axis.size
        for start in starts
    ]
    first = inside.index(True) if True in inside else count
    inner = sum(inside)
    if inner == 1:  # a loop of one step has a known start as well
        first, inner = count, 0
    return Tiles(
        size, axis.count, tuple(starts[:first]), first, inner, tuple(starts[first + inner :])
    )


def for_each(tiles: Tiles, name: str, body: Callable[[Any], None]) -> None:
    """Emit ``body`` for the start of each tile: a number at the edges, an expression inside."""
    for start in tiles.before:
        body(start)
    if tiles.inner:
        with emit.serial(tiles.inner, f"{name}_tile") as tile:
            body(emit.bind(name, tiles.start(tile)))
    for start in tiles.after:
        body(start)


def for_each_of_band(
    tiles: Tiles, name: str, band: Any, bands: int, body: Callable[[Any], None]
) -> None:
    """The same for one of ``bands`` shares of the tiles; the first and last have the edges."""
    if bands == 1:
        for_each(tiles, name, body)
        return
    if tiles.before:
        with emit.when(band == 0):
            for start in tiles.before:
                body(start)
    if tiles.inner:
        begin = emit.bind(f"{name}_begin", band * tiles.inner // bands)
        end = emit.bind(f"{name}_end", (band + 1) * tiles.inner // bands)
        with emit.serial(end - begin, f"{name}_tile") as tile:
            body(emit.bind(name, tiles.start(begin + tile)))
    if tiles.after:
        with emit.when(band == bands - 1):
            for start in tiles.after:
                body(start)
