"""The transform of weights: G g G^T, in panels that fit the register tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tunesmith.operators import Conv2dTranspose
from tunesmith.sketches.cpu.winograd.transpose import store_all, transposed
from tunesmith.sketches.tir import emit
from tunesmith.sketches.winograd.tiling import DTYPE, Tiling, vector_length
from tunesmith.sketches.winograd.transforms import StoredTransform


def transform_weights(tiling: Tiling, weight: Any, transformed: Any) -> None:
    """G g G^T of all weights, in panels of output channels."""
    with emit.parallel(tiling.panels, "panel") as panel:
        first = emit.tile_start(panel, tiling.panel, tiling.operator.co)
        with emit.serial(tiling.register_vectors, "vector") as vector:
            lane = vector * tiling.co_lanes
            co = emit.bind("co", first + lane)
            with emit.serial(tiling.groups, "group") as group:
                _transform_group(tiling, weight, transformed, (panel, group, co, lane))
            if tiling.repeated_channels:
                _clear_repeated(tiling, transformed, panel, lane)


def _transform_group(tiling: Tiling, weight: Any, transformed: Any, place: Sequence[Any]) -> None:
    """The weights of a vector of output channels and a group of input channels."""
    panel, group, co, lane = place
    rows, columns = tiling.minimal
    first = emit.bind("ci", emit.tile_start(group, tiling.ci_lanes, tiling.operator.ci))
    high, wide = tiling.operator.kernel
    taps_of_channel = high * wide
    turned = not tiling.channels_last
    taps = _turned_taps(tiling, weight, co, first) if turned else weight
    square = StoredTransform.of(rows.filter, columns.filter, DTYPE, tiling.co_lanes)
    with emit.serial(tiling.ci_lanes, "channel") as channel:

        def tap(i: int, j: Any) -> Any:
            number = channel * taps_of_channel + i * wide + j
            index = [number * tiling.co_lanes] if turned else [i, j, first + channel, co]
            return emit.bind("tap", emit.load(taps, index, tiling.co_lanes))

        def store(i: Any, j: int, value: Any) -> None:
            position = i * len(columns.filter) + j
            index = [position, panel, group * tiling.ci_lanes + channel, lane]
            emit.store(transformed, value, index, tiling.co_lanes)

        square.write(tap, store)


def _turned_taps(tiling: Tiling, weight: Any, co: Any, first: Any) -> Any:
    """The taps of a group of input channels, each a vector of output channels."""
    taps_of_channel = math.prod(tiling.operator.kernel)
    lanes, count = tiling.co_lanes, tiling.ci_lanes * taps_of_channel
    channels, whole = tiling.operator.ci, tiling.operator.co
    if isinstance(tiling.operator, Conv2dTranspose):
        # The taps of a pair of channels are a row.
        rows = _reshaped(weight, (channels * whole, taps_of_channel))
        taps = emit.buffer("taps", (count * lanes,), DTYPE)
        with emit.serial(tiling.ci_lanes, "channel") as channel:
            row = emit.bind("first_row", (first + channel) * whole + co)
            target = channel * taps_of_channel * lanes
            _turn(tiling, (rows, row, 0), taps_of_channel, (taps, target))
    else:
        rows = _reshaped(weight, (whole, channels * taps_of_channel))
        taps = emit.buffer("taps", (count * lanes,), DTYPE)
        _turn(tiling, (rows, co, first * taps_of_channel), count, (taps, 0))
    return taps


def _turn(tiling: Tiling, source: Sequence[Any], count: int, target: Sequence[Any]) -> None:
    """Store ``count`` columns of a matrix, of ``co_lanes`` rows each, one after the other. The
    source is a buffer and the first row and column, the target a buffer and an offset."""
    (rows, row, column), (taps, place) = source, target
    lanes, step = tiling.co_lanes, vector_length(count, tiling.lanes)
    with emit.serial(emit.tile_count(count, step), "step") as number:
        start = emit.bind("start", emit.tile_start(number, step, count))
        values = [
            emit.bind("row", emit.load(rows, [row + lane, column + start], step))
            for lane in range(lanes)
        ]
        store_all(taps, transposed(values, step), [place + start * lanes])


def _clear_repeated(tiling: Tiling, transformed: Any, panel: Any, lane: Any) -> None:
    """Set the weights to 0 of channels that the group before the last one has, too."""
    zero = emit.constant(0, DTYPE, tiling.co_lanes)
    first = (tiling.groups - 1) * tiling.ci_lanes
    with (
        emit.serial(tiling.positions, "position") as position,
        emit.serial(tiling.repeated_channels, "repeated") as repeated,
    ):
        index = [position, panel, first + repeated, lane]
        emit.store(transformed, zero, index, tiling.co_lanes)


def _reshaped(buffer: Any, shape: Sequence[int]) -> Any:
    """The same memory as a buffer of another shape."""
    from tvm.tirx.script.builder import ir

    return ir.decl_buffer(tuple(shape), DTYPE, data=buffer.data)
