"""The result of a register tile: epilogue, and stores of whole vectors in either layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.direct.kernel import Place, Sums
from tunesmith.sketches.cpu.direct.plan import Plan
from tunesmith.sketches.cpu.direct.transpose import pieces, transposed
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import epilogue_tensors, finished


@dataclass(frozen=True)
class Result:
    """The output, the inputs of the epilogue, and where an image is in them.

    ``buffers`` are flat views of the operator's arguments and its result.
    """

    plan: Plan
    buffers: Sequence[Any]
    image: Any

    def write(self, sums: Sums, place: Place) -> None:
        """Store a register tile."""
        along_channels = self.plan.operator.layout == "NHWC"
        if (self.plan.vectorize == "channels") == along_channels:
            for unit in sums.units():
                self._store(sums[unit], self._moved(place, unit), self.plan.unit)
        elif along_channels:
            self._write_channels(sums, place)
        else:
            self._write_columns(sums, place)

    def _write_columns(self, sums: Sums, place: Place) -> None:
        """Vectors along channels, stored along columns."""
        lanes, tile = self.plan.unit, sums.tile
        for row in range(tile.rows):
            for channel in range(tile.channels):
                for first, count in pieces(tile.columns, lanes):
                    across = [sums[row, first + i, channel] for i in range(count)]
                    at = self._moved(place, (row, first, channel))
                    for lane, value in enumerate(transposed(across, lanes)):
                        self._store(value, Place(at.row, at.column, at.channel + lane), count)

    def _write_channels(self, sums: Sums, place: Place) -> None:
        """Vectors along columns, stored along channels."""
        lanes, tile = self.plan.unit, sums.tile
        for row in range(tile.rows):
            for column in range(tile.columns):
                for first, count in pieces(tile.channels, lanes):
                    across = [sums[row, column, first + i] for i in range(count)]
                    at = self._moved(place, (row, column, first))
                    for lane, value in enumerate(transposed(across, lanes)):
                        self._store(value, Place(at.row, at.column + lane, at.channel), count)

    def _moved(self, place: Place, unit: tuple[int, int, int]) -> Place:
        row, column, channel = unit
        return Place(
            place.row + row,
            place.column + column * self.plan.lanes_columns,
            place.channel + channel * self.plan.lanes_channels,
        )

    def _store(self, value: Any, place: Place, lanes: int) -> None:
        """Store lanes along the innermost axis of the output, after the epilogue."""
        plan, op = self.plan, self.plan.operator
        number, group = plan.number_and_group(self.image)
        channel = group * plan.channels_out + place.channel
        if op.layout == "NCHW":
            pixel = place.row * plan.columns + place.column
            offset = (number * op.co + channel) * (plan.rows * plan.columns) + pixel
        else:
            pixel = (number * plan.rows + place.row) * plan.columns + place.column
            offset = pixel * op.co + channel
        along = lanes if op.layout == "NHWC" else 1

        def of_channel(tensor: Any) -> Any:
            loaded = emit.load(tensor, [channel], along)
            loaded = loaded.astype(emit.vector_type(op.accumulate_dtype, along))
            return loaded if along == lanes else emit.broadcast(loaded, lanes)

        value = finished(
            op,
            value,
            lanes,
            epilogue_tensors(self.buffers),
            of_channel=of_channel,
            of_element=lambda tensor: emit.load(tensor, [offset], lanes),
        )
        emit.store(self.buffers[-1], value, [offset], lanes)
