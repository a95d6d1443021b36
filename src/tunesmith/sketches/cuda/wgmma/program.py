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
        """The low words of those of the first stage: of the left tile from the warpgroup's first
        row on."""
        rows_before = self.own_row // ROWS * self.left.start(ROWS, 0)
        left = self._low_word(0, self.left) + _word(rows_before)
        right = self._low_word(self.left.elements, self.right)
        return emit.bind("left", left), emit.bind("right", right)

    def _low_word(self, first_element: int, tile: OperandTile) -> Any:
        """The low word of the descriptor of a tile that begins at this element of the stage."""
        address = device.shared_address(self.shared, first_element) // _word(UNIT)
        return address + _word(tile.low_word)

    def _multiply(self, left: Any, right: Any, stage: Any) -> None:
        """Begin the products of a stage: one group."""
        units = _word(stage // CHUNK)
        left, right = emit.bind("left_now", left + units), emit.bind("right_now", right + units)
        instructions.order_registers()
        for step in range(self.use.tile.steps):
            for i in range(self.down):
                instructions.begin_product(
                    self.operator.dtype,
                    self.sums(i, 0, self.sums_across),
                    _descriptor(left, self.left.start(i * ROWS, step * STEP), self.left),
                    _descriptor(right, self.right.start(0, step * STEP), self.right),
                    left_turned=not self.left.along_depth,
                    right_turned=not self.right.along_depth,
                )
        instructions.commit_products()


def _descriptor(low_word: Any, units: int, tile: OperandTile) -> Any:
    """The descriptor of the part of a tile that is so many units behind that of the low word.

    All that changes is in the low word, and is computed there: of sums of 64 bits whose factors are
    narrower the ``ptxas`` of CUDA 13.0 has lost the high word.
    """
    from tvm import tirx

    low = low_word + _word(units) if units else low_word
    return low.astype("uint64") | tirx.const(tile.high_word << 32, "uint64")


def _word(number: Any) -> Any:
    """A number in 32 bits, as the halves of descriptors are."""
    from tvm import tirx

    return tirx.const(number, "uint32") if isinstance(number, int) else number.astype("uint32")
