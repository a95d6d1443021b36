"""Copying data: padded, without what strides leave out, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.operators import sides
from tunesmith.sketches.cpu.direct.control import memory, outside, span, within
from tunesmith.sketches.cpu.direct.data import copied_elements
from tunesmith.sketches.cpu.direct.plan import Plan
from tunesmith.sketches.cpu.direct.transpose import transposed
from tunesmith.sketches.tir import emit, shuffles

# Enough steps for the cores of any machine to have about equally many.
_MANY_STEPS = 64
_ZERO_LANES = 16


def copy_images(plan: Plan, data: Any, target: Any) -> None:
    """Copy all images, in a parallel loop of its own."""
    rows = plan.stored_rows
    copier = _Copier(plan, data, target, rows)
    groups = copier.groups
    alone = plan.images * groups
    # A step for each row only where there are few channels: its index takes divisions.
    fused = 1 if alone >= _MANY_STEPS else rows
    with emit.parallel(alone * fused, "copied_rows") as step:
        image, group = step // (groups * fused), step // fused % groups
        if fused > 1:
            copier.copy((image, group), step % rows, to=(image, step % rows))
        else:
            with span(0, rows, "row") as row:
                copier.copy((image, group), row, to=(image, row))


@contextmanager
def copied_images(plan: Plan, data: Any) -> Iterator[Any]:
    """Around what reads the data: yields a copy of all images, where the plan says so."""
    if plan.copy != "image":
        yield data
        return
    elements = plan.images * copied_elements(plan, plan.stored_rows)
    with memory("copied", elements, plan.operator.accumulate_dtype) as whole:
        copy_images(plan, data, whole)
        yield whole


def copy_rows(plan: Plan, data: Any, target: Any, image: Any, rows: tuple[Any, Any]) -> None:
    """Copy rows of an image, given the first and their number, into memory of the task."""
    first, count = rows
    copier = _Copier(plan, data, target, plan.rows_for(plan.rows_per_task))
    with emit.serial(copier.groups, "group") as group, span(0, count, "row") as row:
        copier.copy((image, group), first + row, to=(0, row))


@dataclass(frozen=True)
class _Strides:
    """Strides in elements of what is copied."""

    pixel: int
    channel: int


@dataclass(frozen=True)
class _Copier:
    """Copies rows of a group of channels to a target of ``rows`` rows an image and channel."""

    plan: Plan
    data: Any
    target: Any
    rows: int

    @property
    def channels(self) -> int:
        """Channels of a group: all where only the source has them innermost, since vectors of
        channels are transposed then."""
        stored = self.plan.stored_block
        turned = self.plan.operator.layout == "NHWC" and stored == 1
        return self.plan.channels_in if turned else stored

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.plan.channels_in // self.channels

    def copy(self, channels: tuple[Any, Any], row: Any, to: tuple[Any, Any]) -> None:
        """Copy row ``row`` of the padded image to another place, padded with zeros.

        ``channels`` are the image and the group, ``to`` the image and the row in the target.
        """
        plan, op = self.plan, self.plan.operator
        target, target_strides = self._target(channels[1], to)
        source_row = row * plan.row_step - op.padding[0]
        source, source_strides = self._source(channels, source_row)
        block = _Block(
            self.channels, self.data, source, source_strides, self.target, target, target_strides
        )
        if sides(op.padding)[0] == (0, 0):
            _copy_columns(plan, block)
            return
        with emit.when(within(source_row, op.h)):
            _copy_columns(plan, block)
        with emit.when(outside(source_row, op.h)):
            _zero(block, 0, plan.pitch)

    def _target(self, group: Any, place: tuple[Any, Any]) -> tuple[Any, _Strides]:
        plan, (image, row) = self.plan, place
        plane = self.rows * plan.pitch
        strides = _Strides(plan.stored_block, plane if plan.stored_block == 1 else 1)
        start = image * (plan.channels_in * plane) + group * (self.channels * plane)
        return emit.bind("target_row", start + row * (plan.pitch * plan.stored_block)), strides

    def _source(self, channels: tuple[Any, Any], row: Any) -> tuple[Any, _Strides]:
        plan, op, (image, group) = self.plan, self.plan.operator, channels
        number, own_group = plan.number_and_group(image)
        channel = own_group * plan.channels_in + group * self.channels
        if op.layout == "NCHW":
            start = ((number * op.ci + channel) * op.h + row) * op.w
            return emit.bind("source_row", start), _Strides(1, op.h * op.w)
        start = (number * op.h + row) * (op.w * op.ci) + channel
        return emit.bind("source_row", start), _Strides(op.ci, 1)


def _copy_columns(plan: Plan, row: _Block) -> None:
    """Copy the columns of a row of the image, and zeros for those that padding adds."""
    op, step, stored = plan.operator, plan.column_step, plan.stored_columns
    for phase in range(plan.phases):
        # Column ``first`` to before ``last`` of the phase are columns of the image.
        first = min(stored, max(0, -((phase - op.padding[1]) // step)))
        last = min(stored, -((phase - op.padding[1] - op.w) // step))
        last = max(first, last)
        begin = phase * stored
        _zero(row, begin, begin + first)
        if last > first:
            source_column = first * step + phase - op.padding[1]
            _copy(row.moved(source_column, begin + first), last - first, step, plan.lanes)
        _zero(row, begin + last, begin + stored)


@dataclass(frozen=True)
class _Block:
    """Pixels of ``channels`` channels, and their targets."""

    channels: int
    source: Any
    source_start: Any
    source_strides: _Strides
    target: Any
    target_start: Any
    target_strides: _Strides

    def moved(self, source_pixel: int, target_pixel: int) -> _Block:
        """The block moved by pixels of the source and of the target."""
        return replace(
            self,
            source_start=self.source_start + source_pixel * self.source_strides.pixel,
            target_start=self.target_start + target_pixel * self.target_strides.pixel,
        )

    def load(self, pixel: Any, channel: Any, lanes: int, step: int = 1) -> Any:
        """Lanes along the innermost axis of the source, pixels ``step`` apart."""
        strides = self.source_strides
        start = self.source_start + pixel * (step * strides.pixel) + channel * strides.channel
        stride = step if strides.pixel == 1 else 1
        value = strided(self.source, start, lanes, stride)
        return value.astype(emit.vector_type(str(self.target.dtype), lanes))

    def store(self, value: Any, pixel: Any, channel: Any, lanes: int) -> None:
        strides = self.target_strides
        place = self.target_start + pixel * strides.pixel + channel * strides.channel
        emit.store(self.target, value, [place], lanes)


def strided(source: Any, start: Any, lanes: int, stride: int) -> Any:
    """A vector of elements that are ``stride`` apart."""
    if stride != 2 or lanes == 1:
        return emit.load(source, [start], lanes, stride)
    # The second half ends with the last element that is wanted: there may be no memory after it.
    halves = [emit.load(source, [start + first], lanes) for first in (0, lanes - 1)]
    even = range(0, lanes, 2)
    return shuffles.shuffled(halves, [*even, *(lanes + 1 + lane for lane in even)])


def _zero(row: _Block, first: int, last: int) -> None:
    """Zeros in pixels ``first`` to before ``last`` of the target."""
    dtype, strides = row.target.dtype, row.target_strides
    if last <= first:
        return
    if strides.pixel > 1 or row.channels == 1:
        count, outer = (last - first) * row.channels, 1
    else:
        count, outer = last - first, row.channels
    lanes = min(emit.power_of_two(count), _ZERO_LANES)
    tiles = emit.tile_count(count, lanes)
    with emit.serial(outer, "channel") as channel, emit.serial(tiles, "zeros") as tile:
        place = row.target_start + first * strides.pixel + channel * strides.channel
        place = place + emit.tile_start(tile, lanes, count)
        emit.store(row.target, emit.constant(0, dtype, lanes), [place], lanes)


def _copy(block: _Block, count: int, step: int, lanes: int) -> None:
    """Copy ``count`` pixels, which are ``step`` apart in the source."""
    from_channels, to_channels = (
        block.source_strides.channel == 1,
        block.target_strides.channel == 1 and block.channels > 1,
    )
    if from_channels and (to_channels or block.channels == 1):
        wide = min(emit.power_of_two(block.channels), lanes)
        tiles = emit.tile_count(block.channels, wide)
        with emit.serial(count, "column") as pixel, emit.serial(tiles, "channels") as tile:
            channel = emit.tile_start(tile, wide, block.channels)
            block.store(block.load(pixel, channel, wide, step), pixel, channel, wide)
    elif block.channels == 1:
        wide = min(emit.power_of_two(count), lanes)
        with emit.serial(emit.tile_count(count, wide), "columns") as tile:
            pixel = emit.tile_start(tile, wide, count)
            block.store(block.load(pixel, 0, wide, step), pixel, 0, wide)
    else:
        _copy_transposed(block, count, step, lanes, from_channels)


def _copy_transposed(block: _Block, count: int, step: int, lanes: int, from_channels: bool) -> None:
    """The same where source and target have different innermost axes: squares are transposed."""
    side = min(emit.power_of_two(count), emit.power_of_two(block.channels), lanes)
    tiles = [emit.tile_count(extent, side) for extent in (count, block.channels)]
    with emit.serial(tiles[0], "columns") as columns, emit.serial(tiles[1], "channels") as channels:
        pixel = emit.bind("pixel", emit.tile_start(columns, side, count))
        channel = emit.bind("channel", emit.tile_start(channels, side, block.channels))
        across = [
            block.load(pixel + i, channel, side, step)
            if from_channels
            else block.load(pixel, channel + i, side, step)
            for i in range(side)
        ]
        for i, value in enumerate(transposed(across, side)):
            place = (pixel, channel + i) if from_channels else (pixel + i, channel)
            block.store(value, *place, side)
