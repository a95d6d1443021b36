"""A product by warpgroups, written out: the grid, the pipeline of copies, the multiplication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import ProductOperator
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import STEP
from tunesmith.sketches.cuda.mma.copies import copier
from tunesmith.sketches.cuda.mma.device import WARP
from tunesmith.sketches.cuda.mma.program import tile_of_block, where
from tunesmith.sketches.cuda.mma.result import ResultWriter
from tunesmith.sketches.cuda.mma.shared_tile import CHUNK
from tunesmith.sketches.cuda.mma.split_sum import KTiles, result_of, split_of
from tunesmith.sketches.cuda.mma.stages import Stages
from tunesmith.sketches.cuda.wgmma import instructions
from tunesmith.sketches.cuda.wgmma.instructions import ROWS, WARPGROUP
from tunesmith.sketches.cuda.wgmma.operand_tile import ALIGNMENT, UNIT, OperandTile
from tunesmith.sketches.cuda.wgmma.warpgroup_tile import WarpgroupUse
from tunesmith.sketches.tir import emit

# Sums of a thread in a tile of 16x8.
_SUMS = 4


def warpgroup_program(operator: ProductOperator, use: WarpgroupUse) -> Any:
    """The module of the product that an operator is, with the operator's epilogue."""
    tile = use.tile
    with (
        emit.module() as made,
        emit.function("main", [*operator.arguments, operator.result]) as buffers,
        result_of(operator, use, buffers) as result,
        device.launch("blockIdx.x", use.blocks) as block,
        device.launch("threadIdx.x", tile.threads) as thread,
    ):
        layer, row, column = tile_of_block(block, use)
        split, batch = split_of(layer, use)
        shared = emit.buffer(
            "shared",
            (use.shared_bytes // 2,),
            operator.dtype,
            scope="shared.dyn",
            alignment=ALIGNMENT,
        )
        warp, lane = emit.bind("warp", thread // WARP), emit.bind("lane", thread % WARP)
        first_row = emit.bind("first_row", row * tile.block_m)
        first_column = emit.bind("first_column", column * tile.block_n)
        own_row = emit.bind("own_row", thread // WARPGROUP * tile.warpgroup_m)
        body = _Multiplication(operator, use, buffers, shared, KTiles.of(use, split))
        body.prepare(batch, first_row, first_column, thread)
        body.emit(own_row)
        sums_in_rows = device.view(shared, use.shared_bytes // 4, operator.accumulate_dtype)
        device.block_barrier()  # the last stage has been read
        row_of_warp = own_row + warp % (WARPGROUP // WARP) * STEP
        ResultWriter(use, result, sums_in_rows, rows_apart=ROWS).write(
            body.sums,
            layer=layer,
            first_row=emit.bind("first_row", first_row + row_of_warp),
            first_column=first_column,
            warp=warp,
            lane=lane,
        )
    return made[0]


@dataclass
class _Multiplication:
    """The sums of a block's tile, one of its k tiles after the other."""

    operator: ProductOperator
    use: WarpgroupUse
    buffers: Sequence[Any]
    shared: Any
    k_tiles: KTiles

    def __post_init__(self) -> None:
        tile, use = self.use.tile, self.use
        left, right = use.left, use.right
        self.left = tile.shared_tile(left, tile.block_m)
        self.right = tile.shared_tile(right, tile.block_n)
        memory: dict[str, Any] = {"buffers": self.buffers, "shared": self.shared}
        copiers = (
            copier(left, self.left, use, **memory, first_element=0),
            copier(right, self.right, use, **memory, first_element=self.left.elements),
        )
        self.stages = Stages(use, copiers)
        self.down = tile.warpgroup_m // ROWS
        self.sums_of_product = ROWS * tile.block_n // WARPGROUP
        count = self.down * self.sums_of_product
        self._sums = emit.buffer("sums", (count,), self.operator.accumulate_dtype, scope="local")

    def prepare(self, batch: Any, first_row: Any, first_column: Any, thread: Any) -> None:
        """What a thread knows of its copies before the first one."""
        first_depth = self.k_tiles.first * self.use.tile.block_k
        for each, first in zip(self.stages.copiers, (first_row, first_column), strict=True):
            each.prepare(batch, first, thread, first_depth)
        if self.use.table_bytes:
            device.block_barrier()

    def sums(self, i: int, j: int) -> list[Any]:
        """A thread's four sums of its warp's 16 rows of product i, of eight columns."""
        first = i * self.sums_of_product + j * _SUMS
        return [self._sums[first + place] for place in range(_SUMS)]

    def emit(self, own_row: Any) -> None:
        """All of it. K tiles are copied ahead, and products are begun before those of the k tile
        before them have ended.

        The barrier says that a k tile has been copied, and also that all warps have waited for the
        products of the stage that is copied to next.
        """
        tile = self.use.tile
        zero = emit.constant(0, self.operator.accumulate_dtype)
        for place in range(self.down * self.sums_of_product):
            emit.store(self._sums, zero, [place])
        left, right = self._descriptors(own_row)
        first = min(tile.ahead, self.k_tiles.most)
        with emit.serial(first, "k_tile") as k_tile:
            with emit.when(self.k_tiles.has(k_tile, first)):
                self.stages.begin(k_tile, self.stages.start(k_tile))
                self.stages.finish(self.stages.start(k_tile))
            device.commit_copies()
        for _ in range(first, tile.ahead):  # so that groups can be counted
            device.commit_copies()
        # Unrolled, ptxas would wait for products to move their sums to other registers.
        with emit.serial(self.k_tiles.count, "k_tile", rolled=True) as k_tile:
            now = emit.bind("stage", self.stages.start(k_tile))
            then = k_tile + tile.ahead
            target = emit.bind("stage_ahead", self.stages.start(then))
            more = then < self.k_tiles.count
            device.wait_for_copies(tile.ahead - 1)
            instructions.publish_copies()
            device.block_barrier()
            self._multiply(left, right, now)
            where(more, lambda: self.stages.begin(then, target))
            device.commit_copies()
            instructions.wait_for_products(tile.pending)
            if self.stages.gathered:
                where(more, lambda: self.stages.finish(target))
        instructions.wait_for_products(0)

    def _descriptors(self, own_row: Any) -> tuple[Any, Any]:
        """Those of the first stage: of the left tile from the warpgroup's first row on."""
        rows_before = own_row // ROWS * self.left.start(ROWS, 0)
        left = _descriptor(self.shared, 0, self.left) + _wide(rows_before)
        right = _descriptor(self.shared, self.left.elements, self.right)
        return emit.bind("left", left), emit.bind("right", right)

    def _multiply(self, left: Any, right: Any, stage: Any) -> None:
        """Begin the products of a stage: one group."""
        units = _wide(stage // CHUNK)
        left, right = emit.bind("left_now", left + units), emit.bind("right_now", right + units)
        instructions.order_registers()
        for step in range(self.use.tile.steps):
            for i in range(self.down):
                first = i * self.sums_of_product
                instructions.begin_product(
                    self.operator.dtype,
                    [self._sums[first + place] for place in range(self.sums_of_product)],
                    left + self.left.start(i * ROWS, step * STEP),
                    right + self.right.start(0, step * STEP),
                    left_turned=not self.left.along_depth,
                    right_turned=not self.right.along_depth,
                )
        instructions.commit_products()


def _descriptor(shared: Any, first_element: int, tile: OperandTile) -> Any:
    """The descriptor of a tile that begins at this element."""
    from tvm import tirx

    address = device.shared_address(shared, first_element) // tirx.const(UNIT, "uint32")
    return _wide(address) + tirx.const(tile.descriptor, "uint64")


def _wide(number: Any) -> Any:
    """A number in 64 bits, as descriptors are."""
    return number if isinstance(number, int) else number.astype("uint64")
