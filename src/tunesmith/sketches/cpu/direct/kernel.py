"""The microkernel: a register tile of sums, kept in registers over the whole reduction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import Any

from tunesmith.sketches.cpu.direct.data import Source
from tunesmith.sketches.cpu.direct.plan import Plan, Tile
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.multiply_add import multiply_add, multiply_add_function
from tunesmith.sketches.tir.registers import Registers


@dataclass(frozen=True)
class Place:
    """Where a tile begins: the first row, column and channel of its group."""

    row: Any
    column: Any
    channel: Any


class Sums:
    """The sums of a register tile."""

    def __init__(self, plan: Plan, tile: Tile) -> None:
        self.tile = tile
        self._registers = Registers(
            "sums",
            tile.rows * tile.columns * tile.channels,
            plan.unit,
            plan.operator.accumulate_dtype,
        )

    def __getitem__(self, unit: tuple[int, int, int]) -> Any:
        return self._registers[self._number(unit)]

    def __setitem__(self, unit: tuple[int, int, int], value: Any) -> None:
        self._registers[self._number(unit)] = value

    def units(self) -> Iterator[tuple[int, int, int]]:
        """Row, column and channel of each."""
        tile = self.tile
        return product(range(tile.rows), range(tile.columns), range(tile.channels))

    def _number(self, unit: tuple[int, int, int]) -> int:
        row, column, channel = unit
        return (row * self.tile.columns + column) * self.tile.channels + channel


@dataclass(frozen=True)
class Panel:
    """Packed weights from an offset on."""

    buffer: Any
    start: Any


def reduce(plan: Plan, tile: Tile, place: Place, source: Source, weights: Panel) -> Sums:
    """Sum data x weights over input channels and the window."""
    sums = Sums(plan, tile)
    zero = emit.constant(0, plan.operator.accumulate_dtype, plan.unit)
    for unit in sums.units():
        sums[unit] = zero
    extents = _extents(plan)
    unrolled = unrolling(extents, plan.steps)
    start, pixels = _pixels(plan, tile, source, place)
    with ExitStack() as loops:
        first = [
            loops.enter_context(emit.serial(extent // steps, name)) * steps
            for extent, steps, name in zip(extents, unrolled, _LOOPS, strict=True)
        ]
        panel = emit.bind("weights", weights.start + _term_number(plan, first) * plan.channel_tile)
        taps = {
            tap: _apart(start + _tap(plan, source, first, tap), unrolled[1] * unrolled[2] > 1)
            for tap in product(range(unrolled[1]), range(unrolled[2]))
        }
        for offsets in product(*map(range, unrolled)):
            # From here on, the parts of addresses are constants.
            outer, ky, kx, inner = offsets
            datum = taps[ky, kx] + source.term(outer, inner, 0)
            number = _term_number(plan, offsets)
            weight = panel + number * plan.channel_tile
            if plan.prefetch:
                _prefetch(plan, Panel(weights.buffer, panel), number)
            addends = {pixel: datum + offset for pixel, offset in pixels.items()}
            _add_products(plan, sums, source.buffer, addends, Panel(weights.buffer, weight))
    return sums


def _prefetch(plan: Plan, panel: Panel, number: int) -> None:
    """Prefetch the lines of weights that begin ``prefetch`` terms later than this one.

    After the last ones of a panel come the first ones of the next.
    """
    elements = emit.line_elements(plan.operator.accumulate_dtype)
    first = number * plan.channel_tile
    for place in range(-(-first // elements) * elements, first + plan.channel_tile, elements):
        ahead = panel.start + (place + plan.prefetch * plan.channel_tile)
        emit.prefetch(panel.buffer, [ahead])


_LOOPS = ("outer", "ky", "kx", "inner")


def _extents(plan: Plan) -> tuple[int, int, int, int]:
    """Steps of the loops of the reduction, from the outermost one."""
    return plan.channels_in // plan.block, *plan.operator.kernel, plan.block


def _term_number(plan: Plan, term: Sequence[Any]) -> Any:
    """How many terms of the reduction come before this one."""
    number: Any = 0
    for index, extent in zip(term, _extents(plan), strict=True):
        number = number * extent + index
    return number


def _pixels(
    plan: Plan, tile: Tile, source: Source, place: Place
) -> tuple[Any, dict[tuple[int, int], Any]]:
    """The offset of a tile's data, and from there those of its pixels (units), by row and column in
    the tile."""
    units = list(product(range(tile.rows), range(tile.columns)))
    if not plan.flat or plan.contiguous:
        start = emit.bind("data", source.base + _pixel(plan, source, place.row, place.column))
        lanes = plan.lanes_columns
        return start, {unit: _pixel(plan, source, unit[0], unit[1] * lanes) for unit in units}
    wide = plan.operator.output_image[1]
    offsets = {}
    for unit in units:
        number = emit.bind("number", place.column + unit[1])
        offset = _pixel(plan, source, number // wide, number % wide)
        # LLVM must not see how these are related, as with the offsets of taps.
        offsets[unit] = _apart(offset, several=True)
    return emit.bind("data", source.base), offsets


def _pixel(plan: Plan, source: Source, row: Any, column: Any) -> Any:
    """The offset of an output pixel's data from those of the first pixel."""
    strides = plan.operator.stride
    return row * (strides[0] // plan.row_step * source.row) + column * (
        strides[1] // plan.column_step * source.column
    )


def _tap(plan: Plan, source: Source, first: Sequence[Any], tap: tuple[int, int]) -> Any:
    """The offset of the first unrolled terms' data, for one of the unrolled taps."""
    outer, ky, kx, inner = first
    row, shift = (
        (k + t) * d for k, t, d in zip((ky, kx), tap, plan.operator.dilation, strict=True)
    )
    column = shift // plan.phases * source.column
    if plan.phases > 1:
        column = column + shift % plan.phases * source.phase
    return source.term(outer, inner, row) + column


def _apart(offset: Any, several: bool) -> Any:
    """The offset of a tap's data, opaque to LLVM where there are several: it must not see how they
    are related."""
    if not several or isinstance(offset, int):
        return emit.bind("tap", offset)
    # In 64 bits, as addresses are: constants added to it become part of an instruction's address.
    return emit.bind("tap", emit.called(_APART, "int64", offset.astype("int64")))


_APART = "tunesmith_apart"
# Neighbouring pixels read the same data with different taps. Where LLVM sees that, it keeps dozens
# of vectors in registers from one tap to the next, and spills the sums.
_TAPS_APART = f"""
define internal i64 @{_APART}(i64 %offset) alwaysinline {{
  %same = call i64 asm "", "=r,0"(i64 %offset) nounwind memory(none)
  ret i64 %same
}}
"""


def functions(plan: Plan) -> str:
    """What ``reduce`` calls: for ``emit.llvm`` around it."""
    if not plan.needs_multiply_add:
        return _TAPS_APART
    return _TAPS_APART + multiply_add_function(plan.operator.accumulate_dtype, plan.unit)


def unrolling(extents: tuple[int, ...], steps: int) -> list[int]:
    """How many steps of each loop are unrolled: the innermost ones first, ``steps`` at most."""
    unrolled = []
    for extent in reversed(extents):
        fitting = max(count for count in range(1, min(steps, extent) + 1) if extent % count == 0)
        unrolled.append(fitting)
        # A loop around one that is not unrolled as a whole cannot be either.
        steps = steps // fitting if fitting == extent else 1
    return unrolled[::-1]


def _add_products(
    plan: Plan, sums: Sums, data: Any, offsets: dict[tuple[int, int], Any], weights: Panel
) -> None:
    """Add the products of one input channel and one tap of the window; ``offsets`` are those of
    each pixel's data."""
    tile = sums.tile

    def weight(channel: int) -> Any:
        lanes = plan.lanes_channels
        value = emit.load(weights.buffer, [weights.start + channel * lanes], lanes)
        return value if plan.vectorize == "channels" else emit.broadcast(value, plan.unit)

    def datum(row: int, column: int) -> Any:
        value = emit.load(data, [offsets[row, column]], plan.lanes_columns)
        return value if plan.vectorize == "columns" else emit.broadcast(value, plan.unit)

    # Vectors are held in registers, and each broadcast is used as soon as it is loaded. Or
    # broadcasts are held, and each vector is used as soon as it is loaded.
    pixels, channels = list(product(range(tile.rows), range(tile.columns))), range(tile.channels)
    vectors = len(channels) if plan.vectorize == "channels" else len(pixels)
    dtype, alone = plan.operator.accumulate_dtype, plan.needs_multiply_add and vectors == 1

    def add(unit: tuple[int, int, int], left: Any, right: Any) -> None:
        total = sums[unit]
        if alone:
            sums[unit] = multiply_add(total, left, right, dtype, plan.unit)
        else:
            sums[unit] = total + left * right

    kept, passing = ("vector", "scalar") if plan.holds_vectors else ("scalar", "vector")
    if (plan.vectorize == "channels") == plan.holds_vectors:
        held = [emit.bind(kept, weight(channel)) for channel in channels]
        for row, column in pixels:
            value = emit.bind(passing, datum(row, column))
            for channel in channels:
                add((row, column, channel), value, held[channel])
    else:
        data = {pixel: emit.bind(kept, datum(*pixel)) for pixel in pixels}
        for channel in channels:
            value = emit.bind(passing, weight(channel))
            for row, column in pixels:
                add((row, column, channel), data[row, column], value)
