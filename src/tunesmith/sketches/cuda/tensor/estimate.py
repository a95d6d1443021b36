"""How many seconds a product on tensor cores takes, by the model of the GPU."""

from __future__ import annotations

from tunesmith.sketches import emit
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.tensor.block_tile import STEP, TileUse
from tunesmith.sketches.cuda.tensor.device import WARP
from tunesmith.sketches.cuda.tensor.matrix import Matrix, Product
from tunesmith.sketches.cuda.tensor.shared_tile import CHUNK

# Columns of the result that an instruction multiplies.
_COLUMNS = 8
# Turns in which ``ldmatrix`` reads four matrices of 128 bytes.
_LOAD_TURNS = 4
# Instructions of a copy, of each element that is gathered, around a stretch, and for each sum at
# the end, which goes through shared memory.
_COPY, _GATHER, _AROUND, _A_SUM = 4, 8, 20, 6
# Cycles until data of the L2 cache are there, and until threads have met.
_L2_CYCLES, _BARRIER_CYCLES = 300, 40
_ELEMENT, _BYTES_OF_BANKS = 2, 128


def tensor_seconds(product: Product, use: TileUse, gpu: Gpu, compulsory_bytes: float) -> float:
    """About how long it takes; ``compulsory_bytes`` is what it reads and writes at the least."""
    tile = use.tile
    multiplications = tile.steps * (tile.warp_m // STEP) * (tile.warp_n // _COLUMNS)
    loads = tile.steps * (tile.warp_m + tile.warp_n) // STEP
    work = work_of_a_block(
        product,
        use,
        arithmetic=tile.block_m * tile.block_n * tile.block_k / gpu.tensor_lanes,
        reading=tile.threads // WARP * loads * _LOAD_TURNS,
        instructions=multiplications + loads,
        ahead=tile.stages - 1,
    )
    return seconds(work, blocks_of(product, use), gpu, compulsory_bytes)


def blocks_of(product: Product, use: TileUse) -> int:
    """How many tiles the result has."""
    rows = emit.tile_count(product.rows, use.tile.block_m)
    return product.batch * rows * emit.tile_count(product.columns, use.tile.block_n)


def work_of_a_block(
    product: Product,
    use: TileUse,
    *,
    arithmetic: float,
    reading: float,
    instructions: float,
    ahead: int,
) -> BlockWork:
    """What a block does whose copies are so many stretches ahead.

    In a stretch its tensor cores are busy for ``arithmetic`` cycles and shared memory is read for
    ``reading`` cycles; each warp has so many ``instructions`` for that.
    """
    tile = use.tile
    warps = tile.threads // WARP
    operands = ((product.left, tile.block_m), (product.right, tile.block_n))
    copying = sum(use.copies(matrix, size) * _copy(matrix) for matrix, size in operands)
    copied = (tile.block_m + tile.block_n) * tile.block_k * _ELEMENT
    sums = tile.block_m * tile.block_n // WARP
    return BlockWork(
        threads=tile.threads,
        registers=use.registers,
        shared_bytes=use.shared_bytes,
        steps=emit.tile_count(product.depth, tile.block_k),
        arithmetic=arithmetic,
        shared=reading + copied / _BYTES_OF_BANKS,
        instructions=warps * (instructions + copying + _AROUND),
        bytes=copied,
        waiting=_BARRIER_CYCLES + _L2_CYCLES / (1 + 2 * ahead),
        outside=sums * _A_SUM,
    )


def _copy(matrix: Matrix) -> int:
    """Instructions for a piece of an operand."""
    return CHUNK * _GATHER if matrix.gathered else _COPY
