"""Sums that several blocks share: their k tiles, partial sums, and the kernel that adds them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import ProductOperator
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import TileUse
from tunesmith.sketches.cuda.mma.epilogue import Epilogue
from tunesmith.sketches.cuda.mma.matrix import widest_vector
from tunesmith.sketches.tir import emit

THREADS = 128
"""Threads of a block of the second kernel."""

# The most sums in float32 that a thread loads or stores at a time: 16 bytes.
_WIDEST = 4


@dataclass(frozen=True)
class KTiles:
    """The k tiles of a sum that a block has: the first one, and their number. That is between
    ``fewest`` and ``most``."""

    first: Any
    count: Any
    fewest: int
    most: int

    @classmethod
    def of(cls, use: TileUse, split: Any) -> KTiles:
        """Those of a split; the numbers of splits differ by one at most."""
        total, splits = use.k_tiles, use.tile.splits
        each, rest = divmod(total, splits)
        if not rest:
            return cls(split * each, each, each, each)
        first = emit.bind("first_k_tile", split * total // splits)
        count = emit.bind("k_tiles", (split + 1) * total // splits - first)
        return cls(first, count, each, each + 1)

    def has(self, k_tile: Any, among: int) -> Any:
        """The condition that the block has this one of its first ``among`` k tiles: True where all
        blocks have as many.

        Others must not be copied: no one waits for these copies, and the sums overwrite the stages.
        """
        return True if among <= self.fewest else k_tile < self.count


@dataclass(frozen=True)
class PartialSums:
    """The partial sums of each split in the GPU's memory, in float32."""

    use: TileUse
    memory: Any

    @classmethod
    def of(cls, operator: ProductOperator, use: TileUse) -> PartialSums:
        """Allocate them, outside of both launches."""
        dtype = operator.accumulate_dtype
        return cls(use, emit.flat(emit.buffer("partial_sums", use.partial_shape, dtype)))

    @property
    def vector(self) -> int:
        """How many along a row are written at a time."""
        return min(_WIDEST, widest_vector(self.use.product.columns))

    def write(self, layer: Any, row: Any, column: Any, sums: Callable[[], Any]) -> None:
        """Store a vector along a row. ``layer`` is the number of the split and the place in the
        batch; ``sums`` emits the loads of the sums, and returns a buffer of registers."""
        product, vector = self.use.product, self.vector
        index = (layer * product.rows + row) * product.columns + column
        emit.store(self.memory, emit.load(sums(), [0], vector), [index], vector)

    def total(self, first: Any, vector: int) -> Any:
        """The totals over all splits of ``vector`` sums from the ``first`` one on, in registers."""
        product = self.use.product
        apart = product.batch * product.rows * product.columns
        value = emit.load(self.memory, [first], vector)
        for split in range(1, self.use.tile.splits):
            value = value + emit.load(self.memory, [first + split * apart], vector)
        total = emit.buffer("total", (vector,), self.memory.dtype, scope="local")
        emit.store(total, value, [0], vector)
        return total


@contextmanager
def result_of(
    operator: ProductOperator, use: TileUse, buffers: Sequence[Any]
) -> Iterator[Epilogue | PartialSums]:
    """Around the launch that sums; yields what stores the sums of its tiles.

    That is the result, or, where several blocks share a sum, partial sums, which a second launch
    adds up.
    """
    if use.tile.splits == 1:
        yield Epilogue(operator, use.product, buffers, use.product.vector)
        return
    partial = PartialSums.of(operator, use)
    yield partial
    _add_up(partial, Epilogue(operator, use.product, buffers, adding_vector(use)))


def split_of(layer: Any, use: TileUse) -> tuple[Any, Any]:
    """The split and the place in the batch that number ``layer`` is."""
    if use.tile.splits == 1:
        return 0, layer
    batch = use.product.batch
    return emit.bind("split", layer // batch), emit.bind("batch", layer % batch)


def adding_vector(use: TileUse) -> int:
    """How many elements of the result a thread of the second kernel computes: a vector of partial
    sums in float32."""
    return min(_WIDEST, use.product.vector)


def _add_up(partial: PartialSums, epilogue: Epilogue) -> None:
    """The second kernel: a thread for each vector of the result."""
    product, vector = epilogue.product, epilogue.vector
    pieces = product.batch * product.rows * product.columns // vector
    with (
        device.launch("blockIdx.x", emit.tile_count(pieces, THREADS)) as block,
        device.launch("threadIdx.x", THREADS) as thread,
    ):
        piece = emit.bind("piece", block * THREADS + thread)
        with emit.when(piece < pieces if pieces % THREADS else True):
            first = emit.bind("first", piece * vector)
            column, row, batch = emit.unravel_index(
                first, column=product.columns, row=product.rows, batch=product.batch
            )
            epilogue.write(batch, row, column, lambda: partial.total(first, vector))
