"""How many seconds a config takes, by the model of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

from tunesmith.sketches.cpu.model.machine import ASKED, Machine
from tunesmith.sketches.cpu.winograd.program import APART, FUSED
from tunesmith.sketches.tir.emit import line_elements
from tunesmith.sketches.winograd.axes import AnyAxis
from tunesmith.sketches.winograd.minimal import Matrix
from tunesmith.sketches.winograd.tiling import DTYPE, Tiling
from tunesmith.sketches.winograd.transforms import all_operations, is_straight

_FLOAT = 4
# Cycles to begin and end the sums of a register tile: addresses, and leaving the loop. The core
# predicts the end of a short loop, so that the next tile begins while sums are stored; it does not
# predict that of a long one.
_TILE_CYCLES, _LONG_TILE_CYCLES = 4.0, 20.0
_EXPECTED_STEPS = 16


@dataclass(frozen=True)
class WinogradEstimate:
    """The model of a config: cycles of each stage, combined by its parallel loops."""

    tiling: Tiling
    machine: Machine

    def seconds(self) -> float:
        """About how long a call takes."""
        tiling, machine = self.tiling, self.machine
        blocks, rows = tiling.block_count, tiling.block_rows
        chunk = tiling.chunk_panels * tiling.positions * self._product
        chunk += tiling.chunk_panels * rows * self._output_row
        if tiling.stages == FUSED:
            block = rows * tiling.groups * self._data_row + tiling.chunks * chunk
            cycles, regions = machine.rounds(blocks) * block, 1
        else:
            tasks = blocks * rows * tiling.groups
            cycles, regions = machine.rounds(tasks) * self._data_row, 2
            if tiling.stages == APART:
                tasks = tiling.chunks * tiling.positions * blocks
                cycles += machine.rounds(tasks) * tiling.chunk_panels * self._product
                cycles += machine.rounds(tiling.panels * blocks * rows) * self._output_row
                regions = 3
            else:
                cycles += machine.rounds(tiling.chunks * blocks) * chunk
        if not tiling.operator.constant_weights:
            cycles += machine.rounds(tiling.panels) * self._weights_of_panel
            regions += 1
        return machine.seconds(cycles, regions)

    # -- stages ----------------------------------------------------------------------------------

    @cached_property
    def _product(self) -> float:
        """Of a block, a position and a panel."""
        tiling, machine = self.tiling, self.machine
        channels = tiling.groups * tiling.ci_lanes
        sums = tiling.register_tiles * tiling.register_vectors
        loads = float(tiling.register_vectors)
        if tiling.prefetch:
            body = tiling.unroll * tiling.panel
            loads += math.ceil(body / line_elements(DTYPE)) / tiling.unroll
        step = machine.register_tile_cycles(
            sums, loads, tiling.register_tiles, registers=self._alive
        )
        tiles = -(-tiling.block_tiles // tiling.register_tiles)
        adding, storing = channels * step, sums / machine.core.stores
        if channels > _EXPECTED_STEPS * tiling.unroll:
            tile = adding + storing + _LONG_TILE_CYCLES
        else:
            tile = max(adding, storing) + _TILE_CYCLES
        computing = tiles * tile
        panel = channels * tiling.panel * _FLOAT
        plane = channels * tiling.block_tiles * _FLOAT
        moving = machine.stream_cycles(panel, self._weights_at_hand)
        moving += (tiles - 1) * machine.stream_cycles(panel, panel + plane / tiles)
        moving *= ASKED if tiling.prefetch else 1.0
        moving += machine.stream_cycles(plane, self._data_at_hand)
        return machine.overlapped(computing, moving)

    @property
    def _alive(self) -> int:
        vectors = self.tiling.register_vectors
        return self.tiling.register_tiles * vectors + vectors + 1

    @cached_property
    def _data_row(self) -> float:
        """Of a row of tiles and a group of channels."""
        tiling, machine = self.tiling, self.machine
        vector = tiling.ci_lanes * _FLOAT
        read = min(tiling.operator.w, tiling.block_input_columns)
        pixels = tiling.input_tile[0] * read
        cycles = tiling.block_columns * self._transform("data")
        cycles += self._turn(pixels)
        cycles += machine.stream_cycles(pixels * vector, tiling.operator.arguments[0].elements * 4)
        written = tiling.block_columns * tiling.data_positions * vector
        return cycles + machine.stream_cycles(written, self._data_at_hand)

    @cached_property
    def _output_row(self) -> float:
        """Of a row of tiles and a panel."""
        tiling, machine = self.tiling, self.machine
        vector = tiling.co_lanes * _FLOAT
        pixels = tiling.written_rows * tiling.block_columns * tiling.tile_columns
        cycles = tiling.block_columns * self._transform("output")
        cycles += self._turn(pixels)
        read = tiling.block_columns * tiling.positions * vector
        cycles += machine.stream_cycles(read, self._products_at_hand)
        cycles += machine.stream_cycles(pixels * vector, tiling.operator.result.elements * _FLOAT)
        return cycles * tiling.register_vectors

    @cached_property
    def _weights_of_panel(self) -> float:
        """Of all weights of a panel."""
        tiling, machine = self.tiling, self.machine
        channels = tiling.groups * tiling.ci_lanes
        cycles = channels * self._transform("filter")
        cycles += self._turn(channels * math.prod(tiling.operator.kernel))
        written = channels * tiling.positions * tiling.co_lanes * _FLOAT
        cycles += machine.stream_cycles(written, self._weights_at_hand)
        return cycles * tiling.register_vectors

    def _transform(self, name: str) -> float:
        """Of a tile: its values loaded, multiplied by both matrices of that name, and stored."""
        tiling = self.tiling
        operations, loads, stores, between = _transform_counts(
            name, *tiling.axes, tiling.tile_rows, tiling.tile_columns
        )
        if between is None:
            # Values between both matrices are spilled where registers end. There is enough to do
            # before they are loaded again.
            between = max(0, max(loads, stores) - self.machine.vector_registers)
        return self.machine.register_tile_cycles(
            operations,
            loads + between,
            stores=stores + between,
            accumulators=operations,
            registers=0,
        )

    def _turn(self, pixels: float) -> float:
        """Of pixels of a vector of channels, copied, and transposed if they are in planes."""
        lanes = self.tiling.lanes
        shuffles = 0 if self.tiling.channels_last else lanes.bit_length() - 1
        return pixels * self.machine.register_tile_cycles(0, 1, stores=1, shuffles=shuffles)

    # -- where data are --------------------------------------------------------------------------

    @cached_property
    def _weights_at_hand(self) -> float:
        """Bytes of the weights that a core reads repeatedly, and of what it reads in between."""
        tiling = self.tiling
        positions, panels, channels, panel = tiling.weights_shape
        weights = positions * panels * channels * panel * _FLOAT
        if tiling.stages == FUSED:
            return weights + self._data_at_hand
        # A chunk is read for each block in turn, all of them in each call.
        return weights

    @cached_property
    def _data_at_hand(self) -> float:
        """Bytes of transformed data between writing and reading them."""
        tiling = self.tiling
        blocks = 1 if tiling.stages == FUSED else tiling.block_count
        data = blocks * tiling.data_positions * tiling.data_plane * _FLOAT
        return data + self._products_at_hand

    @cached_property
    def _products_at_hand(self) -> float:
        tiling = self.tiling
        apart = tiling.stages == APART
        plane = tiling.products_plane(tiling.panels if apart else tiling.chunk_panels)
        return (tiling.block_count if apart else 1) * tiling.positions * plane * _FLOAT


@cache
def _transform_counts(
    name: str, down: AnyAxis, across: AnyAxis, tile_rows: int, tile_columns: int
) -> tuple[int, int, int, int | None]:
    """Operations, loads and stores of a transform: "data", "filter" or "output"; and the values
    that loops store between both matrices, None where it is straight-line code."""
    rows: Matrix = getattr(down.minimal(tile_rows), name)
    columns: Matrix = getattr(across.minimal(tile_columns), name)
    high, wide = len(rows[0]), len(columns[0])
    between = None if is_straight(rows, columns) else len(rows) * wide
    return all_operations(rows, columns), high * wide, len(rows) * len(columns), between
