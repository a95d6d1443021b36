"""How many seconds a product on tensor cores takes, by the model of the GPU."""

from __future__ import annotations

from tunesmith.sketches import emit
from tunesmith.sketches.cuda.model.block_work import BlockWork, seconds
from tunesmith.sketches.cuda.model.gpu import Gpu
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
_ELEMENT, _BANKS_BYTES = 2, 128


def tensor_seconds(product: Product, use: TileUse, gpu: Gpu, compulsory_bytes: float) -> float:
    """About how long it takes; ``compulsory_bytes`` is what it reads and writes at the least."""
    tile = use.tile
    warps = tile.threads // WARP
    operands = ((product.left, tile.block_m), (product.right, tile.block_n))
    multiplications = tile.steps * (tile.warp_m // STEP) * (tile.warp_n // _COLUMNS)
    loads = tile.steps * (tile.warp_m + tile.warp_n) // STEP
    copying = sum(use.copies(matrix, size) * _copy(matrix) for matrix, size in operands)
    copied = (tile.block_m + tile.block_n) * tile.block_k * _ELEMENT
    sums = tile.warp_m * tile.warp_n // WARP
    work = BlockWork(
        threads=tile.threads,
        registers=use.registers,
        shared_bytes=use.shared_bytes,
        steps=emit.tile_count(product.depth, tile.block_k),
        arithmetic=tile.block_m * tile.block_n * tile.block_k / gpu.tensor_lanes,
        shared=warps * loads * _LOAD_TURNS + copied / _BANKS_BYTES,
        instructions=warps * (multiplications + loads + copying + _AROUND),
        bytes=copied,
        waiting=_BARRIER_CYCLES + _L2_CYCLES / (2 * tile.stages - 1),
        outside=warps * sums * _A_SUM,
    )
    rows = emit.tile_count(product.rows, tile.block_m)
    columns = emit.tile_count(product.columns, tile.block_n)
    return seconds(work, product.batch * rows * columns, gpu, compulsory_bytes)


def _copy(matrix: Matrix) -> int:
    """Instructions for a piece of an operand."""
    return CHUNK * _GATHER if matrix.gathered else _COPY
