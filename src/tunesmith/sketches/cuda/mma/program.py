"""A product on tensor cores, written out: the grid, the pipeline of copies, the multiplication."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import ProductOperator
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import STEP, TileUse
from tunesmith.sketches.cuda.mma.copies import copier
from tunesmith.sketches.cuda.mma.device import WARP
from tunesmith.sketches.cuda.mma.fragments import Fragments
from tunesmith.sketches.cuda.mma.result import ResultWriter
from tunesmith.sketches.cuda.mma.split_sum import KTiles, result_of, split_of
from tunesmith.sketches.cuda.mma.stages import Stages
from tunesmith.sketches.tir import emit

# Sums of a thread in a tile of 16x8.
_SUMS = 4


def tensor_program(operator: ProductOperator, use: TileUse) -> Any:
    """The module of the product that an operator is, with the operator's epilogue."""
    tile = use.tile
    parameters = [*operator.arguments, operator.result]
    with (
        emit.module() as made,
        emit.function("main", parameters) as buffers,
        result_of(operator, use, buffers) as result,
        device.launch("blockIdx.x", use.blocks) as block,
        device.launch("threadIdx.x", tile.threads) as thread,
    ):
        layer, row, column = tile_of_block(block, use)
        split, batch = split_of(layer, use)
        shared = emit.buffer("shared", (use.shared_bytes // 2,), operator.dtype, scope="shared.dyn")
        warp, lane = emit.bind("warp", thread // WARP), emit.bind("lane", thread % WARP)
        first_row = emit.bind("first_row", row * tile.block_m)
        first_column = emit.bind("first_column", column * tile.block_n)
        warp_row = emit.bind("warp_row", warp // tile.warps_n * tile.warp_m)
        warp_column = emit.bind("warp_column", warp % tile.warps_n * tile.warp_n)
        body = _Multiplication(operator, use, buffers, shared, KTiles.of(use, split))
        body.prepare(batch, first_row, first_column, thread)
        body.prepare_warp(warp_row, warp_column, lane)
        body.emit()
        sums_in_rows = device.view(shared, use.shared_bytes // 4, operator.accumulate_dtype)
        device.block_barrier()  # the last stage has been read
        ResultWriter(use, result, sums_in_rows).write(
            body.sums,
            layer=layer,
            first_row=emit.bind("first_row", first_row + warp_row),
            first_column=emit.bind("first_column", first_column + warp_column),
            warp=warp,
            lane=lane,
        )
    return made[0]


def tile_of_block(block: Any, use: TileUse) -> tuple[Any, Any, Any]:
    """Of a block: its split and place in the batch, as one number, and row and column of its tile.

    Blocks go down the rows of a group, then to the next column of it.
    """
    rows, columns = use.rows, use.columns
    within = emit.bind("within", block % (rows * columns))
    batch = emit.bind("batch", block // (rows * columns))
    size = min(use.tile.group, rows)
    first = emit.bind("first", within // (size * columns) * size)
    rest = emit.bind("rest", within % (size * columns))
    height = size if rows % size == 0 else emit.bind("height", emit.minimum(size, rows - first))
    return batch, emit.bind("row", first + rest % height), emit.bind("column", rest // height)


@dataclass
class _Multiplication:
    """The sums of a block's tile, one of its k tiles after the other."""

    operator: ProductOperator
    use: TileUse
    buffers: Sequence[Any]
    shared: Any
    k_tiles: KTiles

    def __post_init__(self) -> None:
        tile, use = self.use.tile, self.use
        left, right = use.left, use.right
        second = use.left_tile.elements
        memory: dict[str, Any] = {"buffers": self.buffers, "shared": self.shared}
        copiers = (
            copier(left, use.left_tile, use, **memory, first_element=0),
            copier(right, use.right_tile, use, **memory, first_element=second),
        )
        self.stages = Stages(use, copiers)
        self.left, self.right = (
            Fragments(
                matrix,
                shared_tile,
                is_left=matrix is left,
                shared=self.shared,
                first_element=first,
                size=size,
                steps=tile.steps,
            )
            for matrix, shared_tile, first, size in (
                (left, use.left_tile, 0, tile.warp_m),
                (right, use.right_tile, second, tile.warp_n),
            )
        )
        self.across = tile.warp_n // 8
        self.down = tile.warp_m // STEP
        count = self.down * self.across * _SUMS
        total = self.operator.accumulate_dtype
        self._sums = emit.buffer("sums", (count,), total, scope="local")

    def prepare(self, batch: Any, first_row: Any, first_column: Any, thread: Any) -> None:
        """What a thread knows of its copies before the first one."""
        first_depth = self.k_tiles.first * self.use.tile.block_k
        for each, first in zip(self.stages.copiers, (first_row, first_column), strict=True):
            each.prepare(batch, first, thread, first_depth)
        if self.use.table_bytes:
            device.block_barrier()

    def prepare_warp(self, warp_row: Any, warp_column: Any, lane: Any) -> None:
        """What a thread knows of its warp's tile."""
        self.left.prepare(warp_row, lane)
        self.right.prepare(warp_column, lane)

    def sums(self, i: int, j: int) -> list[Any]:
        """A thread's four sums of a tile of 16x8."""
        first = (i * self.across + j) * _SUMS
        return [self._sums[first + place] for place in range(_SUMS)]

    def emit(self) -> None:
        """All of it."""
        zero = emit.constant(0, self.operator.accumulate_dtype)
        for place in range(self.down * self.across * _SUMS):
            emit.store(self._sums, zero, [place])
        if self.use.tile.stages == 1:
            self._one_after_the_other()
        else:
            self._pipelined()

    def _one_after_the_other(self) -> None:
        """Copy a k tile, then multiply it."""
        with emit.serial(self.k_tiles.count, "k_tile") as k_tile:
            self.stages.begin(k_tile, 0)
            device.commit_copies()
            self.stages.finish(0)
            self._wait(0)
            for step in range(self.use.tile.steps):
                self._load(step, 0)
                self._multiply(step)
            device.block_barrier()

    def _pipelined(self) -> None:
        """Copy k tiles ahead, as many as there are stages but one; read factors a step ahead.

        What was copied is waited for before the last step of the k tile before it. That barrier
        also says that all warps are done with the stage that the next turn copies to.
        """
        stages, steps = self.use.tile.stages, self.use.tile.steps
        first = min(stages - 1, self.k_tiles.most)
        with emit.serial(first, "k_tile") as k_tile:
            with emit.when(self.k_tiles.has(k_tile, first)):
                self.stages.begin(k_tile, self.stages.start(k_tile))
                self.stages.finish(self.stages.start(k_tile))
            device.commit_copies()
        for _ in range(first, stages - 1):  # so that groups can be counted
            device.commit_copies()
        self._wait(stages - 2)
        self._load(0, 0)
        with emit.serial(self.k_tiles.count, "k_tile") as k_tile:
            now, then = (emit.bind("stage", self.stages.start(k_tile + one)) for one in (0, 1))
            ahead = k_tile + (stages - 1)
            target = emit.bind("stage_ahead", self.stages.start(ahead))
            more = ahead < self.k_tiles.count
            where(more, lambda: self.stages.begin(ahead, target))
            device.commit_copies()
            for step in range(steps):
                if step == steps - 1:
                    if self.stages.gathered:
                        where(more, lambda: self.stages.finish(target))
                    self._wait(stages - 2)
                if steps == 1:  # one set of factors, which is read after its use
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
        for i in range(self.down):
            for j in range(self.across):
                # To and fro: neighbours share a factor.
                column = j if i % 2 == 0 else self.across - 1 - j
                device.multiply_add(
                    self.operator.dtype,
                    self.sums(i, column),
                    self.left.left(step, i),
                    self.right.right(step, column),
                )


def where(condition: Any, emit_body: Callable[[], None]) -> None:
    """Emit what happens only where a condition holds, which may be known."""
    if condition is not False:
        with emit.when(condition):
            emit_body()
