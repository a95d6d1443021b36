"""The multiplication by warpgroups, of tiles in shared memory."""

from __future__ import annotations

from typing import Any

from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import STEP
from tunesmith.sketches.cuda.mma.product_program import Multiplication, where
from tunesmith.sketches.cuda.mma.shared_tile import CHUNK
from tunesmith.sketches.cuda.wgmma import instructions
from tunesmith.sketches.cuda.wgmma.instructions import ROWS, WARPGROUP
from tunesmith.sketches.cuda.wgmma.operand_tile import ALIGNMENT, UNIT, OperandTile
from tunesmith.sketches.cuda.wgmma.warpgroup_tile import WarpgroupUse
from tunesmith.sketches.tir import emit


class WarpgroupMultiplication(Multiplication):
    """The sums of a warpgroup's rows, of which each product has 64, and each warp 16 of those."""

    alignment = ALIGNMENT
    rows_apart = ROWS
    use: WarpgroupUse

    def allocate(self) -> None:
        use, tile = self.use, self.use.tile
        self.left = tile.shared_tile(use.left, tile.block_m)
        self.right = tile.shared_tile(use.right, tile.block_n)

    def warp_tile(self) -> tuple[Any, None]:
        rows = self.use.tile.warpgroup_m
        self.own_row = emit.bind("own_row", self.thread.number // WARPGROUP * rows)
        return self.own_row + self.thread.warp % (WARPGROUP // WARP) * STEP, None

    def emit(self) -> None:
        """K tiles are copied ahead, and products are begun before those of the k tile before them
        have ended.

        The barrier says that a k tile has been copied, and also that all warps have waited for the
        products of the stage that is copied to next.
        """
        tile = self.use.tile
        self.clear()
        left, right = self._descriptors()
        self.copy_first(tile.ahead)
        # Unrolled, ptxas would wait for products to move their sums to other registers.
        with emit.serial(self.k_tiles.count, "k_tile", rolled=True) as k_tile:
            now = emit.bind("stage", self.stage(k_tile))
            then = k_tile + tile.ahead
            target = emit.bind("stage_ahead", self.stage(then))
            more = then < self.k_tiles.count
            device.wait_for_copies(tile.ahead - 1)
            instructions.publish_copies()
            device.block_barrier()
            self._multiply(left, right, now)
            where(more, lambda: self.begin(then, target))
            device.commit_copies()
            instructions.wait_for_products(tile.pending)
            if self.gathered:
                where(more, lambda: self.finish(target))
        instructions.wait_for_products(0)

    def _descriptors(self) -> tuple[Any, Any]:
        """Those of the first stage: of the left tile from the warpgroup's first row on."""
        rows_before = self.own_row // ROWS * self.left.start(ROWS, 0)
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
                instructions.begin_product(
                    self.operator.dtype,
                    self.sums(i, 0, self.sums_across),
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
