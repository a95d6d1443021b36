"""The tile of a block and of its warps in a product of matrices, and the resources it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from tunesmith.errors import InstantiationError
from tunesmith.sketches.cuda.limits import LIMITS, WARP, BlockUse
from tunesmith.sketches.cuda.mma.matrix import DEPTH, Matrix, Product
from tunesmith.sketches.cuda.mma.shared_tile import CHUNK, SharedTile
from tunesmith.sketches.tir import emit

STEP = 16
"""Rows, and elements of the sum, of an instruction."""

TABLE_ENTRY = 8
"""Bytes of a term in the table of a window: its offset, and a bit for its tap."""

_ELEMENT = 2
_SUM = 4
# Registers of a thread besides sums and fragments, mostly addresses, as ptxas reports them for
# blocks of all sizes.
_OTHER_REGISTERS = 32
_THREAD_REGISTERS = 255
_BLOCK_REGISTERS = 65536
# Rows are a multiple of 32 banks plus eight: a warp stores several without bank conflicts.
_RESULT_PADDING = 8


@dataclass(frozen=True)
class BlockTile:
    """The result's tile of a block, the k tile in shared memory, and its warps.

    ``stages`` k tiles are in shared memory at a time: one is multiplied while the others are
    copied. ``layout`` is that of shared memory. Blocks go down ``group`` rows of tiles, then to the
    next column, so that concurrent blocks share operands in the L2 cache. ``splits`` blocks share a
    sum.
    """

    block_m: int
    block_n: int
    block_k: int
    warps_m: int
    warps_n: int
    stages: int
    layout: str
    group: int
    splits: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps_m * self.warps_n * WARP

    @property
    def warp_m(self) -> int:
        """Rows of the result of a warp."""
        return self.block_m // self.warps_m

    @property
    def warp_n(self) -> int:
        """Columns of the result of a warp."""
        return self.block_n // self.warps_n

    @property
    def steps(self) -> int:
        """Instructions along the k tile that is in shared memory."""
        return self.block_k // STEP

    def shared_tile(self, matrix: Matrix, size: int) -> SharedTile:
        """An operand's tile in shared memory, of ``size`` rows or columns of the result."""
        if matrix.shared_along == DEPTH:
            return SharedTile(size, self.block_k, self.layout)
        return SharedTile(self.block_k, size, self.layout)


@dataclass(frozen=True)
class TileUse:
    """A block tile for a product of two matrices: its grid, and the resources that it takes."""

    tile: BlockTile
    product: Product

    @property
    def left(self) -> Matrix:
        """The left operand."""
        return self.product.left

    @property
    def right(self) -> Matrix:
        """The right operand."""
        return self.product.right

    @property
    def rows(self) -> int:
        """Rows of tiles of a result."""
        return emit.tile_count(self.product.rows, self.tile.block_m)

    @property
    def columns(self) -> int:
        """Columns of tiles of a result."""
        return emit.tile_count(self.product.columns, self.tile.block_n)

    @property
    def tiles(self) -> int:
        """Tiles of all results."""
        return self.product.batch * self.rows * self.columns

    @property
    def blocks(self) -> int:
        """Blocks of threads: ``splits`` for each tile."""
        return self.tiles * self.tile.splits

    @property
    def k_tiles(self) -> int:
        """K tiles of a sum, of all blocks that share it."""
        return emit.tile_count(self.product.depth, self.tile.block_k)

    @property
    def partial_shape(self) -> tuple[int, int, int]:
        """The shape of the partial sums in the GPU's memory, where blocks share sums: split and
        place in the batch, row, column. Rows are not padded: the kernel that adds them up reads
        them contiguously."""
        product = self.product
        return self.tile.splits * product.batch, product.rows, product.columns

    @cached_property
    def left_tile(self) -> SharedTile:
        """The left operand's part of a stage."""
        return self.tile.shared_tile(self.left, self.tile.block_m)

    @cached_property
    def right_tile(self) -> SharedTile:
        """The right operand's part of a stage."""
        return self.tile.shared_tile(self.right, self.tile.block_n)

    @property
    def stage_elements(self) -> int:
        """Elements of shared memory of one stage."""
        return self.left_tile.elements + self.right_tile.elements

    @property
    def result_stride(self) -> int:
        """Elements of a row of the sums that a warp puts in shared memory."""
        return self.tile.warp_n + _RESULT_PADDING

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: the stages and a table, later in their place rows of sums."""
        warps = self.tile.warps_m * self.tile.warps_n
        sums = warps * STEP * self.result_stride * _SUM
        return max(self.table_start + self.table_bytes, sums)

    @property
    def table_start(self) -> int:
        """The first byte after the stages, where tables of the terms of windows are."""
        return self.tile.stages * self.stage_elements * _ELEMENT

    @property
    def table_bytes(self) -> int:
        """The bytes of these tables."""
        tile = self.tile
        operands = (self.left, self.right)
        entries = (each.table_entries(tile.block_k, tile.splits) for each in operands)
        return sum(entries) * TABLE_ENTRY

    def copies(self, matrix: Matrix, size: int) -> int:
        """How many pieces of an operand's tile a thread copies."""
        pieces = size * self.tile.block_k // matrix.piece
        return math.ceil(pieces / self.tile.threads)

    @property
    def factors(self) -> int:
        """Registers of a thread for fragments: two sets (double buffering), unless there is one
        step."""
        tile = self.tile
        return (tile.warp_m + tile.warp_n) * STEP // WARP // 2 * min(2, tile.steps)

    @property
    def registers(self) -> int:
        """About how many registers a thread needs: sums, fragments, gathered elements."""
        tile = self.tile
        sums = tile.warp_m * tile.warp_n // WARP
        gathered = sum(
            self.copies(matrix, size) * CHUNK
            for matrix, size in ((self.left, tile.block_m), (self.right, tile.block_n))
            if matrix.gathered
        )
        return sums + self.factors + gathered + _OTHER_REGISTERS

    def check(self, shared_bytes: int) -> None:
        """Raises ``InstantiationError`` for what exceeds the limits; that of shared memory is
        given."""
        tile = self.tile
        if tile.splits > self.k_tiles:
            raise InstantiationError(
                f"{tile.splits} blocks share a sum of {self.k_tiles} k tiles: each needs one"
            )
        if tile.splits > 1:
            emit.check_size("partial_sums", self.partial_shape)
        use = BlockUse((tile.threads, 1, 1), (self.blocks, 1, 1), 1, 0, self.shared_bytes)
        replace(LIMITS, shared_bytes=shared_bytes).check(use)
        most = min(_THREAD_REGISTERS, _BLOCK_REGISTERS // tile.threads)
        if self.registers > most:
            raise InstantiationError(
                f"about {self.registers} registers a thread, {tile.threads} threads a block: there "
                f"are {most}"
            )

    def allowed(self, shared_bytes: int) -> bool:
        """Whether it is within the limits."""
        try:
            self.check(shared_bytes)
        except InstantiationError:
            return False
        return True
