"""The program of a depthwise convolution: register tiles of sums, one parallel region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.operators import DepthwiseConv2d
from tunesmith.sketches.cpu.depthwise.image_tiles import Blocking, ImageTiles
from tunesmith.sketches.cpu.depthwise.taps import RowOfTaps
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import epilogue_tensors, finished
from tunesmith.sketches.tir.weights import program_of


def depthwise_program(operator: DepthwiseConv2d, blocking: Blocking) -> Any:
    """The module of a blocking, whose ``main`` takes the operator's arguments and its result."""
    return program_of(operator, lambda buffers: _Kernel(operator, blocking, buffers).emit())


class _Sums(dict[tuple[int, int], Any]):
    """The sums of a register tile by row and vector, as variables: there is no loop inside."""

    def add(self, place: tuple[int, int], product: Any) -> None:
        """Add a product to a sum, or begin the sum with it."""
        value = self[place] + product if place in self else product
        self[place] = emit.bind("sum", value)


class _Kernel(ImageTiles):
    def __init__(
        self, operator: DepthwiseConv2d, blocking: Blocking, buffers: Sequence[Any]
    ) -> None:
        self.operator = operator
        data, self.weight, *_, self.output = buffers
        self.tensors = epilogue_tensors(buffers)
        super().__init__(operator, blocking, operator.c * operator.multiplier, data)

    @property
    def source_channel(self) -> Any:
        return self.channel // self.operator.multiplier

    def begin(self) -> None:
        """Load the weights of the channels, which stay in registers as far as these suffice."""
        lanes, many = self.blocking.lanes, self.operator.multiplier
        self.taps: dict[tuple[int, int], Any] = {}
        for row in range(self.row_axis.taps):
            for column in range(self.column_axis.taps):
                if self.along_columns:
                    index = [self.channel // many, self.channel % many, row, column]
                    value = emit.broadcast(emit.load(self.weight, index), lanes)
                else:
                    # All channels of a tap are consecutive: as if there were a single input.
                    value = self.lanes_of_channels().load(self.weight, [row, column, 0])
                self.taps[row, column] = emit.bind("weight", value)

    def tile(self, y: Any, x: Any) -> None:
        rows, vectors = self.blocking.rows, len(self.layout.plan.offsets)
        axis, sums = self.row_axis, _Sums()
        for offset in range((rows - 1) * axis.stride + axis.reach + 1):
            users = self._users(offset)
            if users:
                self._add_row(sums, y, x, offset, users)
        for row in range(rows):
            for vector in range(vectors):
                self._finish(sums.get((row, vector), self.padding), y + row, x, vector)

    def _users(self, offset: int) -> list[tuple[int, int]]:
        """The rows of the tile, and their taps, that need the row of inputs at an offset."""
        axis = self.row_axis
        found = []
        for row in range(self.blocking.rows):
            tap, between = divmod(offset - row * axis.stride, axis.dilation)
            if not between and 0 <= tap < axis.taps:
                found.append((row, tap))
        return found

    def _add_row(
        self, sums: _Sums, y: Any, x: Any, offset: int, users: list[tuple[int, int]]
    ) -> None:
        """Add the products of one row of inputs."""
        source = y * self.row_axis.stride + (offset - self.row_axis.padding)
        taps = RowOfTaps(
            self.layout.plan, lambda column: self.load(source, x, column), self.padding
        )
        for vector in range(len(self.layout.plan.offsets)):
            for column in range(self.column_axis.taps):
                value = taps.vector(vector, column)
                if value is None:
                    continue
                for row, tap in users:
                    sums.add((row, vector), value * self.taps[tap, column])

    def _finish(self, value: Any, y: Any, x: Any, vector: int) -> None:
        """Write a vector of results, after the epilogue."""
        lanes, (place, index) = self.blocking.lanes, self.place(x, y, vector)

        def of_channel(tensor: Any) -> Any:
            if not self.along_columns:
                return place.load(tensor, [])
            return emit.broadcast(emit.load(tensor, [self.channel]), lanes)

        value = finished(
            self.operator,
            value,
            lanes,
            self.tensors,
            of_channel=of_channel,
            of_element=lambda tensor: place.load(tensor, index),
        )
        place.store(self.output, value, index)
