"""A convolution as a product: its operands, and the write of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tunesmith.operators import Conv2d
from tunesmith.sketches.cpu.gemm import ALONG_DEPTH, ALONG_SIZE, Operand, Plan, Put, Side, Source
from tunesmith.sketches.cpu.im2col.planes import Planes
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import Load, finished, flat_epilogue_tensors
from tunesmith.sketches.tir.vectors import (
    bits_of,
    from_bfloat16,
    load_masked,
    store_apart,
    store_masked,
    to_bfloat16,
    within,
)


@dataclass(frozen=True)
class Convolution:
    """The product of an operator's weights and patches.

    ``along_pixels``: vectors of sums run along the windows and the rows of the result are channels
    (weights on the left); otherwise it is the other way round. The reduction goes as the weights
    lie in memory: channel by channel and tap by tap for NCHW, the reverse for NHWC.
    """

    operator: Conv2d
    planes: Planes
    along_pixels: bool

    @property
    def rows(self) -> int:
        """Rows of the result."""
        return self.operator.co if self.along_pixels else self.planes.windows

    @property
    def columns(self) -> int:
        """Columns of the result."""
        return self.planes.windows if self.along_pixels else self.operator.co

    @property
    def weight_side(self) -> Side:
        """Which operand the weights are."""
        return Side.ROWS if self.along_pixels else Side.COLUMNS

    def weights(self, buffer: Any) -> Source:
        """The weights as an operand, the same for each image; bfloat16 as its bits."""
        flat, channels = bits_of(emit.flat(buffer)), self.operator.co
        depth = self.operator.reduction_length
        last = self.planes.channels_last

        def run(at: Any, index: Any, lanes: int = 1) -> Any:
            place = at * channels + index if last else index * depth + at
            return emit.load(flat, [place], lanes)

        operand = Operand(channels, depth, run, run, ALONG_SIZE if last else ALONG_DEPTH)
        return lambda _: operand

    def patches(self, planes: Any, offsets: Callable[[Any], Any], plan: Plan) -> Source:
        """The patches as an operand, given the flat planes and the offset of each step of the
        reduction.

        Panels are filled by vectors of ``panel_lanes`` words. Vectors along the reduction must be
        within the channels of a tap.
        """
        step, image = self.planes.step, self.planes.image
        lanes = plan.panel_lanes
        whole = (
            self.planes.channels % (plan.precision.group * lanes) == 0
            and plan.blocking.depth % lanes == 0
        )

        def source(batch: Any) -> Operand:
            def run(at: Any, index: Any, lanes: int = 1) -> Any:
                place = batch * image + offsets(at) + index * step
                return emit.load(planes, [place], lanes)

            vectors = step == 1 or whole
            along = ALONG_SIZE if step == 1 else ALONG_DEPTH
            return Operand(
                self.planes.windows,
                self.operator.reduction_length,
                run,
                run if vectors else None,
                along if vectors else None,
            )

        return source

    def offsets(self) -> Callable[[Any], Any]:
        """Emit a table of the offsets in the planes of each step of the reduction, where it needs
        one."""
        planes = self.planes
        if planes.taps == 1:
            return lambda at: at * planes.channel
        table = emit.buffer("offsets", (self.operator.reduction_length,), "int32")
        taps = [
            planes.tap(row, column)
            for row in range(planes.rows.taps)
            for column in range(planes.columns.taps)
        ]
        with emit.serial(planes.channels, "channel") as channel:
            for number, tap in enumerate(taps):
                if planes.channels_last:
                    at = number * planes.channels + channel
                else:
                    at = channel * len(taps) + number
                emit.store(table, channel * planes.channel + tap, [at])
        return lambda at: emit.load(table, [at])

    # -- the result ------------------------------------------------------------------------------

    def put(self, buffers: Sequence[Any]) -> Put:
        """The write of the result, given the buffers of the arguments and the result."""
        if self.along_pixels:
            return _RowsOfPixels(self, buffers).put
        return _Channels(self, buffers).put


class _Result:
    """The epilogue, and the stores of the result."""

    def __init__(self, convolution: Convolution, buffers: Sequence[Any]) -> None:
        self.operator = convolution.operator
        self.planes = convolution.planes
        self.output = bits_of(emit.flat(buffers[-1]))
        self.tensors = [bits_of(it) for it in flat_epilogue_tensors(buffers)]
        self.total = self.operator.accumulate_dtype
        self.as_bits = self.operator.result.dtype == "bfloat16"
        self.pixels = self.planes.rows.count * self.planes.columns.count

    def wide(self, value: Any, lanes: int) -> Any:
        """What was loaded, in the type of the sums."""
        if self.as_bits:
            return from_bfloat16(value, lanes)
        return value.astype(emit.vector_type(self.total, lanes))

    def stored(self, value: Any, lanes: int) -> Any:
        """What comes of the epilogue, in the type of the result."""
        if self.as_bits:
            return to_bfloat16(value, lanes)
        return value.astype(emit.vector_type(self.operator.result.dtype, lanes))


class _Channels(_Result):
    """Vectors along the channels, a window a row of the product."""

    def put(self, batch: Any, row: Any, column: Any, sums: Any, lanes: int) -> None:
        """Write the channels of one window, if that exists."""
        width, count = self.planes.columns.length, self.planes.columns.count
        y, x = emit.bind("y", row // width), emit.bind("x", row % width)
        pixel = y * count + x
        if self.planes.channels_last:
            at, apart = (batch * self.pixels + pixel) * self.operator.co + column, 1
        else:
            at, apart = (batch * self.operator.co + column) * self.pixels + pixel, self.pixels
        if width == count:
            self._write(emit.bind("at", at), apart, column, sums, lanes)
            return
        with emit.when(x < count):
            self._write(emit.bind("at", at), apart, column, sums, lanes)

    def _write(self, at: Any, apart: int, column: Any, value: Any, lanes: int) -> None:
        value = finished(
            self.operator,
            value,
            lanes,
            self.tensors,
            of_channel=lambda tensor: self.wide(emit.load(tensor, [column], lanes), lanes),
            of_element=lambda tensor: self.wide(emit.load(tensor, [at], lanes, apart), lanes),
            dtype=self.total,
        )
        store_apart(self.output, self.stored(value, lanes), at, lanes, apart)


class _RowsOfPixels(_Result):
    """Vectors along the windows, a channel a row of the product. NCHW only."""

    def put(self, batch: Any, row: Any, column: Any, sums: Any, lanes: int) -> None:
        """Write those windows of a vector that exist."""
        width, count = self.planes.columns.length, self.planes.columns.count
        base = emit.bind("base", (batch * self.operator.co + row) * self.pixels)
        if self.operator.bias:
            bias = self.wide(emit.load(self.tensors[0], [row]), 1)
            sums = emit.bind("sums", sums + emit.broadcast(bias, lanes))

        def of_channel(tensor: Any) -> Any:
            return emit.broadcast(self.wide(emit.load(tensor, [row]), 1), lanes)

        if width == count:
            self._write(base + column, sums, lanes, None, of_channel)
            return
        first = emit.bind("y", column // width)
        # The most rows of the image that a vector reaches into.
        for line in range((lanes - 2) // width + 2 if lanes > 1 else 1):
            y = first + line
            start = emit.bind("x", column - y * width)
            # The last vector may begin in the last row.
            mask = within(start, lanes, count, y < self.planes.rows.count if line else None)
            at = emit.bind("at", base + y * count + start)
            self._write(at, sums, lanes, mask, of_channel)

    def _write(self, at: Any, sums: Any, lanes: int, mask: Any | None, of_channel: Load) -> None:
        """Write a vector; the sums have the bias already."""
        value = finished(
            self.operator,
            sums,
            lanes,
            self.tensors,
            of_channel=of_channel,
            of_element=lambda it: self.wide(load_masked(it, [at], lanes, mask), lanes),
            bias_added=True,
            dtype=self.total,
        )
        store_masked(self.output, self.stored(value, lanes), [at], lanes, mask)


@lru_cache(maxsize=256)
def convolution_of(operator: Conv2d, along_pixels: bool) -> Convolution:
    """The product of an operator."""
    return Convolution(operator, Planes.of(operator), along_pixels)
