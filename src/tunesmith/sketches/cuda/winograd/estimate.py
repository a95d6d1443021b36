"""How many seconds a convolution by Winograd's algorithm takes, by the model of the GPU."""

from __future__ import annotations

import math

from tunesmith.sketches.cuda.estimates.block_work import BlockWork, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.tiled.work import tiled_seconds
from tunesmith.sketches.cuda.winograd.sizes import Sizes

# Of a transform, for each element of a tile: instructions that load or store it, additions, and
# registers; and instructions and registers for where the tile is.
_MOVE, _ADD, _HELD = 4, 3, 2
_PLACE, _PLACE_REGISTERS = 60, 24
# The latency of a transform's first loads, in cycles.
_WAITING = 500
_FLOAT = 4


def winograd_seconds(sizes: Sizes, gpu: Gpu) -> float:
    """About how long all kernels take, one after the other."""
    operator = sizes.operator
    products = sum(map(math.prod, (sizes.weights_shape, sizes.data_shape, sizes.products_shape)))
    total = tiled_seconds(operator, sizes.nest, sizes.tiling, gpu, products * _FLOAT)
    tiles, positions = sizes.tile_count, sizes.positions
    outputs = sizes.tile_rows * sizes.tile_columns
    total += _transform(operator.ci * tiles, 2 * positions, sizes.data_threads, gpu)
    read = positions * sizes.splits
    total += _transform(operator.co * tiles, read + outputs, sizes.output_threads, gpu)
    if not operator.constant_weights:
        pairs = operator.co * operator.ci
        total += _transform(pairs, positions + 9, sizes.weight_threads, gpu)
    return total


def _transform(steps: int, elements: int, threads: int, gpu: Gpu) -> float:
    """The kernel that transforms ``steps`` tiles, and loads and stores ``elements`` of each."""
    warps = math.ceil(threads / WARP)
    work = BlockWork(
        threads=threads,
        registers=min(elements * _HELD, 128) + _PLACE_REGISTERS,
        shared_bytes=0,
        steps=1,
        arithmetic=warps * WARP * elements * _ADD / gpu.lanes,
        shared=warps * elements,
        instructions=warps * (elements * (_MOVE + _ADD) + _PLACE),
        bytes=threads * elements * _FLOAT,
        waiting=_WAITING,
    )
    return seconds(work, math.ceil(steps / threads), gpu, steps * elements * _FLOAT)
