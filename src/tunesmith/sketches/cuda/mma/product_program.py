"""The kernel of a product: the grid, stages of k tiles, sums, and the store of the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tunesmith.operators import ProductOperator
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import STEP, TileUse
from tunesmith.sketches.cuda.mma.copies import copier
from tunesmith.sketches.cuda.mma.result import ResultWriter
from tunesmith.sketches.cuda.mma.split_sum import KTiles, result_of, split_of
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_of

# Sums of a thread in a tile of 16x8.
_SUMS = 4


@dataclass(frozen=True)
class Thread:
    """The number of a thread in its block, that of its warp, and its lane in the warp."""

    number: Any
    warp: Any
    lane: Any


class Multiplication(ABC):
    """The sums of a thread, of one k tile after the other.

    K tiles of both operands are copied to the stages of shared memory in turn. ``alignment`` is
    that of shared memory in bytes; ``rows_apart`` is as in ``ResultWriter``.
    """

    alignment: ClassVar[int | None] = None
    rows_apart: ClassVar[int] = STEP

    def __init__(
        self,
        operator: ProductOperator,
        use: TileUse,
        *,
        buffers: Sequence[Any],
        shared: Any,
        split: Any,
        thread: Thread,
    ) -> None:
        self.operator = operator
        self.use = use
        self.shared = shared
        self.thread = thread
        self.row, self.column = self.warp_tile()
        self.k_tiles = KTiles.of(use, split)
        memory: dict[str, Any] = {"buffers": buffers, "shared": shared}
        second = use.left_tile.elements
        self.copiers = (
            copier(use.left, use.left_tile, use, **memory, first_element=0),
            copier(use.right, use.right_tile, use, **memory, first_element=second),
        )
        self.gathered = use.left.gathered or use.right.gathered
        self.down = use.tile.warp_m // STEP
        self.sums_across = use.tile.warp_n // 8 * _SUMS
        self.allocate()
        count, total = self.down * self.sums_across, operator.accumulate_dtype
        self._sums = emit.buffer("sums", (count,), total, scope="local")

    @abstractmethod
    def warp_tile(self) -> tuple[Any, Any | None]:
        """The first row and column of the warp's tile in that of the block; None is column 0."""

    @abstractmethod
    def allocate(self) -> None:
        """Allocate what the subclass needs besides sums."""

    @abstractmethod
    def emit(self) -> None:
        """Emit the sums of all k tiles."""

    def prepare(self, batch: Any, first_row: Any, first_column: Any) -> None:
        """Compute what all copies have in common."""
        first_depth = self.k_tiles.first * self.use.tile.block_k
        for each, first in zip(self.copiers, (first_row, first_column), strict=True):
            each.prepare(batch, first, self.thread.number, first_depth)
        if self.use.table_bytes:
            device.block_barrier()

    def sums(self, i: int, j: int, count: int = _SUMS) -> list[Any]:
        """A thread's sums from those of tile (i, j) on, of 16 rows and eight columns."""
        first = i * self.sums_across + j * _SUMS
        return [self._sums[first + place] for place in range(count)]

    def clear(self) -> None:
        """Set the sums to 0."""
        zero = emit.constant(0, self.operator.accumulate_dtype)
        for place in range(self.down * self.sums_across):
            emit.store(self._sums, zero, [place])

    def stage(self, k_tile: Any) -> Any:
        """The first element of a k tile's stage."""
        return k_tile % self.use.tile.stages * self.use.stage_elements

    def begin(self, k_tile: Any, stage: Any) -> None:
        """Begin to copy a k tile to the stage that starts at this element."""
        for each in self.copiers:
            each.begin(k_tile, stage)

    def finish(self, stage: Any) -> None:
        """Store what was gathered: the k tile is there after the next wait and barrier."""
        for each in self.copiers:
            each.finish(stage)

    def copy_first(self, count: int) -> None:
        """Copy the first k tiles, each as a group of copies."""
        first = min(count, self.k_tiles.most)
        with emit.serial(first, "k_tile") as k_tile:
            with emit.when(self.k_tiles.has(k_tile, first)):
                self.begin(k_tile, self.stage(k_tile))
                self.finish(self.stage(k_tile))
            device.commit_copies()
        for _ in range(first, count):  # so that groups can be counted
            device.commit_copies()


def product_program(
    operator: ProductOperator, use: TileUse, multiplication: type[Multiplication]
) -> Any:
    """The module of the product that an operator is, with the operator's epilogue."""
    tile = use.tile

    def main(buffers: list[Any]) -> None:
        with (
            result_of(operator, use, buffers) as target,
            device.launch("blockIdx.x", use.blocks) as block,
            device.launch("threadIdx.x", tile.threads) as number,
        ):
            layer, row, column = _tile_of_block(block, use)
            split, batch = split_of(layer, use)
            size, align = (use.shared_bytes // 2,), multiplication.alignment
            shared = emit.buffer("shared", size, operator.dtype, "shared.dyn", align)
            warp, lane = emit.bind("warp", number // WARP), emit.bind("lane", number % WARP)
            first_row = emit.bind("first_row", row * tile.block_m)
            first_column = emit.bind("first_column", column * tile.block_n)
            body = multiplication(
                operator,
                use,
                buffers=buffers,
                shared=shared,
                split=split,
                thread=Thread(number, warp, lane),
            )
            body.prepare(batch, first_row, first_column)
            body.emit()
            rows = device.view(shared, use.shared_bytes // 4, operator.accumulate_dtype)
            device.block_barrier()  # the last stage has been read
            first_row = emit.bind("first_row", first_row + body.row)
            if body.column is not None:
                first_column = emit.bind("first_column", first_column + body.column)
            ResultWriter(use, target, rows, body.rows_apart).write(
                body.sums,
                layer=layer,
                first_row=first_row,
                first_column=first_column,
                warp=warp,
                lane=lane,
            )

    return program_of(operator, main)


def _tile_of_block(block: Any, use: TileUse) -> tuple[Any, Any, Any]:
    """The split and place in the batch of a block, as one number, and row and column of its tile.

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


def where(condition: Any, emit_body: Callable[[], None]) -> None:
    """Emit a body where a condition holds, an expression or a bool."""
    if condition is not False:
        with emit.when(condition):
            emit_body()
