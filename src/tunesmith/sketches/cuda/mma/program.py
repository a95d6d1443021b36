"""The multiplication on tensor cores by ``mma``, from fragments in registers."""

from __future__ import annotations

from typing import Any

from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.fragments import Fragments
from tunesmith.sketches.cuda.mma.product_program import Multiplication, where
from tunesmith.sketches.tir import emit


class TensorMultiplication(Multiplication):
    """The sums of a warp's tile."""

    def warp_tile(self) -> tuple[Any, Any]:
        tile, warp = self.use.tile, self.thread.warp
        row = emit.bind("warp_row", warp // tile.warps_n * tile.warp_m)
        return row, emit.bind("warp_column", warp % tile.warps_n * tile.warp_n)

    def allocate(self) -> None:
        use, tile = self.use, self.use.tile
        self.left, self.right = (
            Fragments(
                matrix,
                shared_tile,
                is_left=matrix is use.left,
                shared=self.shared,
                first_element=first,
                size=size,
                steps=tile.steps,
            )
            for matrix, shared_tile, first, size in (
                (use.left, use.left_tile, 0, tile.warp_m),
                (use.right, use.right_tile, use.left_tile.elements, tile.warp_n),
            )
        )

    def prepare(self, batch: Any, first_row: Any, first_column: Any) -> None:
        """Compute where the fragments of the warp's tile are, too."""
        super().prepare(batch, first_row, first_column)
        self.left.prepare(self.row, self.thread.lane)
        self.right.prepare(self.column, self.thread.lane)

    def emit(self) -> None:
        self.clear()
        if self.use.tile.stages == 1:
            self._one_after_the_other()
        else:
            self._pipelined()

    def _one_after_the_other(self) -> None:
        """Copy a k tile, then multiply it."""
        with emit.serial(self.k_tiles.count, "k_tile") as k_tile:
            self.begin(k_tile, 0)
            device.commit_copies()
            self.finish(0)
            self._wait(0)
            for step in range(self.use.tile.steps):
                self._load(step, 0)
                self._multiply(step)
            device.block_barrier()

    def _pipelined(self) -> None:
        """Copy k tiles ahead, as many as there are stages but one; load fragments a step ahead.

        What was copied is waited for before the last step of the k tile before it. That barrier
        also says that all warps are done with the stage that the next turn copies to.
        """
        stages, steps = self.use.tile.stages, self.use.tile.steps
        self.copy_first(stages - 1)
        self._wait(stages - 2)
        self._load(0, 0)
        with emit.serial(self.k_tiles.count, "k_tile") as k_tile:
            now, then = (emit.bind("stage", self.stage(k_tile + one)) for one in (0, 1))
            ahead = k_tile + (stages - 1)
            target = emit.bind("stage_ahead", self.stage(ahead))
            more = ahead < self.k_tiles.count
            where(more, lambda: self.begin(ahead, target))
            device.commit_copies()
            for step in range(steps):
                if step == steps - 1:
                    if self.gathered:
                        where(more, lambda: self.finish(target))
                    self._wait(stages - 2)
                if steps == 1:  # one set of fragments, which is loaded after its use
                    self._multiply(step)
                    self._load(0, then)
                else:
                    self._load((step + 1) % steps, then if step == steps - 1 else now)
                    self._multiply(step)

    def _wait(self, pending: int) -> None:
        device.wait_for_copies(pending)
        device.block_barrier()

    def _load(self, step: int, stage: Any) -> None:
        self.left.load(step, stage)
        self.right.load(step, stage)

    def _multiply(self, step: int) -> None:
        across = self.use.tile.warp_n // 8
        for i in range(self.down):
            for j in range(across):
                # To and fro, so that neighbours share a fragment.
                column = j if i % 2 == 0 else across - 1 - j
                device.multiply_add(
                    self.operator.dtype,
                    self.sums(i, column),
                    self.left.left(step, i),
                    self.right.right(step, column),
                )
