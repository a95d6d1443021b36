"""Results: the phases of a band of rows and a tile of channels, interleaved and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.transpose.plan import TransposePlan
from tunesmith.sketches.tir import emit, shuffles
from tunesmith.sketches.tir.epilogue import epilogue_tensors, finished, per_channel


@dataclass(frozen=True)
class Result:
    """The output, the inputs of the epilogue, and the image in them.

    ``buffers`` are flat views of the operator's arguments and its result.
    """

    plan: TransposePlan
    buffers: Sequence[Any]
    image: Any

    @property
    def tensors(self) -> list[Any]:
        """What the epilogue takes."""
        return epilogue_tensors(self.buffers)

    def interleave(self, held: Any, channel: Any, first_row: Any, rows: Any) -> None:
        """Write ``rows`` rows of each phase, from the first on, of the tile from a channel on.

        ``held`` has for each phase (by its place in the output) the channels, rows and columns.
        """
        plan = self.plan
        high, wide = plan.band_rows, plan.columns.steps
        with (
            emit.serial(plan.grid.channel_tile, "held_channel") as own,
            emit.serial(rows, "held_row") as row,
            emit.serial(plan.rows.stride, "row_phase") as phase,
        ):
            line = emit.bind("output_row", (first_row + row) * plan.rows.stride + phase)
            inside = True if plan.rows.output % plan.rows.stride == 0 else line < plan.rows.output
            with emit.when(inside):
                number = (self.image * plan.operator.co + channel + own) * plan.rows.output + line
                target = emit.bind("target", number * plan.columns.output)
                pitch = plan.grid.channel_tile * high * wide
                source = phase * (plan.columns.stride * pitch) + (own * high + row) * wide
                self._row(held, emit.bind("source", source), pitch, channel + own, target)

    def _row(self, held: Any, source: Any, pitch: int, channel: Any, target: Any) -> None:
        """Interleave a row; the column phases are ``pitch`` apart."""
        plan = self.plan
        stride, total = plan.columns.stride, plan.operator.accumulate_dtype
        whole, rest = divmod(plan.columns.output, stride)
        # The epilogue's numbers of the channel, by their tensors.
        numbers = {
            tensor: emit.bind(name, emit.load(tensor, [channel]).astype(total))
            for name, tensor in per_channel(plan.operator, self.tensors).items()
        }
        lanes = min(emit.power_of_two(whole), plan.lanes) if whole else 1
        if whole:
            with emit.serial(emit.tile_count(whole, lanes), "columns") as tile:
                column = emit.bind("column", emit.tile_start(tile, lanes, whole))
                phases = [
                    emit.bind("phase", emit.load(held, [source + phase * pitch + column], lanes))
                    for phase in range(stride)
                ]
                first = target + column * stride
                size = _stored(stride * lanes, plan.lanes)
                for start in range(0, stride * lanes, size):
                    places = [
                        place % stride * lanes + place // stride
                        for place in range(start, start + size)
                    ]
                    value = shuffles.shuffled(phases, places) if stride > 1 else phases[0]
                    self._store(value if size > 1 else phases[start], numbers, first + start, size)
        for phase in range(rest):
            value = emit.load(held, [source + phase * pitch + whole])
            self._store(value, numbers, target + whole * stride + phase, 1)

    def _store(self, value: Any, numbers: Mapping[Any, Any], offset: Any, lanes: int) -> None:
        """Store lanes of a row of the output, after the epilogue."""
        value = finished(
            self.plan.operator,
            value,
            lanes,
            self.tensors,
            of_channel=lambda tensor: emit.broadcast(numbers[tensor], lanes),
            of_element=lambda tensor: emit.load(tensor, [offset], lanes),
        )
        emit.store(self.buffers[-1], value, [offset], lanes)


def _stored(elements: int, lanes: int) -> int:
    """The length of the vectors that store some elements: it divides their number."""
    return min(lanes, elements & -elements)
