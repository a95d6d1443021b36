"""How many seconds a product on tensor cores takes, by the model of the GPU."""

from __future__ import annotations

import math

from tunesmith.sketches.cuda.estimates.block_work import BlockWork, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.mma.block_tile import STEP, TileUse
from tunesmith.sketches.cuda.mma.matrix import Matrix
from tunesmith.sketches.cuda.mma.shared_tile import CHUNK
from tunesmith.sketches.cuda.mma.split_sum import THREADS, adding_vector
from tunesmith.sketches.tir import emit

# Columns of the result that an instruction multiplies.
_COLUMNS = 8
# Wavefronts of ``ldmatrix``, which reads four matrices of 128 bytes.
_LOAD_TURNS = 4
# Instructions of a copy, of each gathered element, around a k tile, and for each sum at the end,
# which goes through shared memory.
_COPY, _GATHER, _AROUND, _A_SUM = 4, 8, 20, 6
# The latencies of the L2 cache and of a barrier, in cycles.
_L2_CYCLES, _BARRIER_CYCLES = 300, 40
_ELEMENT, _SUM, _BYTES_OF_BANKS = 2, 4, 128
# Of a thread that adds up partial sums: instructions of an element's epilogue and of its address,
# registers besides the sums, and the latency of their loads.
_EPILOGUE, _PLACE, _ADDING_REGISTERS, _WAITING = 3, 40, 24, 500


def tensor_seconds(use: TileUse, gpu: Gpu, compulsory_bytes: float) -> float:
    """The seconds of a call, which reads and writes at least ``compulsory_bytes``."""
    tile = use.tile
    multiplications = tile.steps * (tile.warp_m // STEP) * (tile.warp_n // _COLUMNS)
    loads = tile.steps * (tile.warp_m + tile.warp_n) // STEP
    work = work_of_a_block(
        use,
        arithmetic=tile.block_m * tile.block_n * tile.block_k / gpu.tensor_lanes,
        reading=tile.threads // WARP * loads * _LOAD_TURNS,
        instructions=multiplications + loads,
        ahead=tile.stages - 1,
    )
    return product_seconds(work, use, gpu, compulsory_bytes)


def product_seconds(work: BlockWork, use: TileUse, gpu: Gpu, compulsory_bytes: float) -> float:
    """The seconds of all blocks, and of a second kernel where they share sums."""
    if use.tile.splits == 1:
        return seconds(work, use.blocks, gpu, compulsory_bytes)
    partial = math.prod(use.partial_shape) * _SUM
    return seconds(work, use.blocks, gpu, compulsory_bytes + partial) + _adding_up(use, gpu)


def _adding_up(use: TileUse, gpu: Gpu) -> float:
    """The seconds of the kernel that adds up the partial sums of blocks."""
    vector, splits = adding_vector(use), use.tile.splits
    vectors = math.prod(use.partial_shape) // splits // vector
    instructions = splits * (1 + vector) + vector * _EPILOGUE + _PLACE
    bytes_of_a_thread = vector * (splits * _SUM + _ELEMENT)
    work = BlockWork(
        threads=THREADS,
        registers=splits * vector + _ADDING_REGISTERS,
        shared_bytes=0,
        steps=1,
        arithmetic=THREADS * splits * vector / gpu.lanes,
        shared=0,
        instructions=THREADS // WARP * instructions,
        bytes=THREADS * bytes_of_a_thread,
        waiting=_WAITING,
    )
    blocks = emit.tile_count(vectors, THREADS)
    return seconds(work, blocks, gpu, vectors * bytes_of_a_thread)


def work_of_a_block(
    use: TileUse,
    *,
    arithmetic: float,
    reading: float,
    instructions: float,
    ahead: int,
) -> BlockWork:
    """What a block does whose copies are ``ahead`` k tiles ahead.

    In a k tile its tensor cores are busy for ``arithmetic`` cycles and shared memory is read for
    ``reading`` cycles, by ``instructions`` of each warp.
    """
    tile = use.tile
    warps = tile.threads // WARP
    operands = ((use.left, tile.block_m), (use.right, tile.block_n))
    copying = sum(use.copies(matrix, size) * _copy(matrix) for matrix, size in operands)
    copied = (tile.block_m + tile.block_n) * tile.block_k * _ELEMENT
    sums = tile.block_m * tile.block_n // WARP
    return BlockWork(
        threads=tile.threads,
        registers=use.registers,
        shared_bytes=use.shared_bytes,
        steps=emit.tile_count(use.k_tiles, tile.splits),
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
