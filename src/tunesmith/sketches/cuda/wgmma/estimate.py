"""The seconds of a product by warpgroups, by the model of the GPU."""

from __future__ import annotations

from dataclasses import replace

from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.mma.estimate import product_seconds, work_of_a_block
from tunesmith.sketches.cuda.wgmma.instructions import ROWS
from tunesmith.sketches.cuda.wgmma.warpgroup_tile import WarpgroupUse

# Multiply-adds a cycle of a multiprocessor of an H100, by its data sheet's peak.
_LANES = 2048
# Bytes of shared memory that its tensor cores read a cycle.
_BYTES = 128
_ELEMENT = 2
# Cycles from the end of one group of products to the start of the next, if it waits for that.
_GAP = 100


def warpgroup_seconds(use: WarpgroupUse, gpu: Gpu, compulsory_bytes: float) -> float:
    """The seconds of a call, which reads and writes at least ``compulsory_bytes``.

    The right operand is read again for each 64 rows.
    """
    tile = use.tile
    down = tile.block_m // ROWS
    read = (tile.block_m + down * tile.block_n) * tile.block_k * _ELEMENT
    work = work_of_a_block(
        use,
        arithmetic=tile.block_m * tile.block_n * tile.block_k / _LANES,
        reading=read / _BYTES,
        instructions=2 * tile.steps * tile.warpgroup_m // ROWS,
        ahead=tile.ahead,
    )
    waiting = work.waiting + (0 if tile.pending else _GAP)
    return product_seconds(replace(work, waiting=waiting), use, gpu, compulsory_bytes)
