"""How the stages of Winograd's algorithm follow one another, and what is shared among the cores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.winograd.data import RowOfTiles, transform_data
from tunesmith.sketches.cpu.winograd.products import multiply, transform_products
from tunesmith.sketches.cpu.winograd.weights import transform_weights
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.multiply_add import multiply_add_function
from tunesmith.sketches.tir.weights import program_with_weights
from tunesmith.sketches.winograd.tiling import DTYPE, Tiling

FUSED, SHARED, APART = "fused", "shared", "apart"
"""All of a block in one parallel loop; the transform of data before the rest, and shared by it; or
each stage by itself."""

STAGES = (FUSED, SHARED, APART)


def winograd_program(tiling: Tiling) -> Any:
    """The module: ``main``, and ``prepare`` where the weights are constant."""

    def main(buffers: Sequence[Any]) -> None:
        data, weights, *results = buffers
        with ExitStack() as around:
            if tiling.needs_multiply_add:
                function = multiply_add_function(DTYPE, tiling.co_lanes)
                around.enter_context(emit.llvm(function))
            _Main(tiling, data, weights, tuple(results)).write()

    return program_with_weights(
        tiling.operator,
        tiling.prepared_weights,
        lambda weight, transformed: transform_weights(tiling, weight, transformed),
        main,
    )


@dataclass(frozen=True)
class _Main:
    """The body of ``main``: the data, the transformed weights, the epilogue's inputs and output."""

    tiling: Tiling
    data: Any
    weights: Any
    results: tuple[Any, ...]

    def write(self) -> None:
        {FUSED: self._fused, SHARED: self._shared, APART: self._apart}[self.tiling.stages]()

    def _fused(self) -> None:
        """Each block separately: no core waits for another, all read all weights."""
        tiling = self.tiling
        with emit.parallel(tiling.block_count, "block") as block:
            transformed = self._data_buffer(1)
            with (
                emit.serial(tiling.groups, "group") as group,
                emit.serial(tiling.block_rows, "row") as row,
            ):
                transform_data(tiling, self.data, transformed, self._row(block, row, 0), group)
            with emit.serial(tiling.chunks, "chunk") as chunk:
                self._chunk((transformed, 0), block, chunk)

    def _shared(self) -> None:
        """The transformed data of all blocks first; then each chunk of panels of a block."""
        transformed = self._transform_all_data()
        blocks = self.tiling.block_count
        with emit.parallel(self.tiling.chunks * blocks, "unit") as unit:
            # Neighbours share weights, which are larger than the data where this is fast.
            block, chunk = emit.unravel_index(unit, block=blocks, chunk=self.tiling.chunks)
            self._chunk((transformed, block), block, chunk)

    def _apart(self) -> None:
        """Each stage on all blocks: cores share the products by position, too."""
        tiling = self.tiling
        transformed = self._transform_all_data()
        blocks, positions, panels = tiling.block_count, tiling.positions, tiling.panels
        shape = (blocks, positions, tiling.products_plane(panels))
        products = emit.buffer("products", shape, DTYPE)
        with emit.parallel(tiling.chunks * positions * blocks, "unit") as unit:
            block, position, chunk = emit.unravel_index(
                unit, block=blocks, position=positions, chunk=tiling.chunks
            )
            first = emit.bind("first", emit.tile_start(chunk, tiling.chunk_panels, panels))
            with emit.serial(tiling.chunk_panels, "panel") as local:
                panel = emit.bind("panel", first + local)
                source = (transformed, block, tiling.data_position(position))
                target = (products, block, position, panel)
                multiply(tiling, source, (self.weights, position, panel), target)
        with emit.parallel(panels * blocks * tiling.block_rows, "unit") as unit:
            row, block, panel = emit.unravel_index(
                unit, row=tiling.block_rows, block=blocks, panel=panels
            )
            tiles = self._row(block, row, block)
            transform_products(tiling, (products, panel), self.results, tiles, panel)

    def _transform_all_data(self) -> Any:
        """The transformed data of all blocks, shared among the cores by row and channels."""
        tiling = self.tiling
        rows, groups, blocks = tiling.block_rows, tiling.groups, tiling.block_count
        transformed = self._data_buffer(blocks)
        with emit.parallel(blocks * rows * groups, "unit") as unit:
            group, row, block = emit.unravel_index(unit, group=groups, row=rows, block=blocks)
            tiles = self._row(block, row, block)
            transform_data(tiling, self.data, transformed, tiles, group)
        return transformed

    def _chunk(self, data: tuple[Any, Any], block: Any, chunk: Any) -> None:
        """Products and outputs of a block and a chunk of panels.

        ``data`` are the transformed ones and where the block is in them.
        """
        tiling, panels = self.tiling, self.tiling.chunk_panels
        shape = (1, tiling.positions, tiling.products_plane(panels))
        products = emit.buffer("products", shape, DTYPE)
        first = emit.bind("first", emit.tile_start(chunk, panels, tiling.panels))
        with (
            emit.serial(tiling.positions, "position") as position,
            emit.serial(panels, "panel") as panel,
        ):
            weights = (self.weights, position, first + panel)
            source = (*data, tiling.data_position(position))
            multiply(tiling, source, weights, (products, 0, position, panel))
        with (
            emit.serial(tiling.block_rows, "row") as row,
            emit.serial(panels, "panel") as panel,
        ):
            tiles = self._row(block, row, 0)
            transform_products(tiling, (products, panel), self.results, tiles, first + panel)

    def _row(self, block: Any, row: Any, index: Any) -> RowOfTiles:
        """A row of a block, which is at an index of a buffer."""
        tiling = self.tiling
        (rows, columns), across = tiling.grid, tiling.blocks[1]
        first = emit.tile_start(block // across, tiling.block_rows, rows)
        column = emit.tile_start(block % across, tiling.block_columns, columns)
        number = emit.bind("number", first + row)
        return RowOfTiles(number, row, emit.bind("first_column", column), index)

    def _data_buffer(self, blocks: int) -> Any:
        shape = (blocks, self.tiling.data_positions, self.tiling.data_plane)
        return emit.buffer("transformed_data", shape, DTYPE)
