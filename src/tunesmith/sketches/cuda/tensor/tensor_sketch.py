"""What sketches for ``mma`` share: their space, and their default."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from tunesmith.operators import Operator
from tunesmith.sketches.cuda.estimates.block_work import bytes_of_tensors
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import shared_bytes_of
from tunesmith.sketches.cuda.tensor.block_tile import STEP, BlockTile, TileUse
from tunesmith.sketches.cuda.tensor.estimate import tensor_seconds
from tunesmith.sketches.cuda.tensor.matrix import Product
from tunesmith.sketches.cuda.tensor.product_sketch import (
    ProductSketch,
    default_of,
    enough_stretches,
    splits_of,
)
from tunesmith.sketches.cuda.tensor.program import tensor_program
from tunesmith.sketches.cuda.tensor.shared_tile import LAYOUTS, SWIZZLED
from tunesmith.sketches.sketch import instantiating
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Space
from tunesmith.target import Target

_LEAST_CAPABILITY = 80

_BLOCK_SIZES = (16, 32, 64, 128, 256)
_BLOCK_DEPTHS = (16, 32, 64)
_WARPS = (1, 2, 4, 8)
_STAGES = (1, 2, 3, 4, 5, 6)
_GROUPS = (1, 2, 4, 8, 16)
# A thread has no more than 128 registers for sums, or 64x64 a warp.
_WARP_SUMS = 64 * 64

# The default's tiles, with the warps of each; and how many blocks keep a large GPU's
# multiprocessors busy.
_DEFAULT_TILES = (
    (128, 128, 2, 2),
    (128, 64, 2, 2),
    (64, 64, 2, 2),
    (64, 32, 2, 1),
    (32, 32, 1, 1),
)
_ENOUGH_BLOCKS = 128
_DEFAULT_DEPTH = 32
_DEFAULT_STAGES = 4
_DEFAULT_GROUP = 8


class TensorSketch(ProductSketch):
    """Multiplies matrices of 16-bit elements on tensor cores, with sums in float32.

    Each block has a tile of the result and each of its warps a part of that, in registers.
    Stretches of the operands are copied to shared memory, several ahead of the one that is
    multiplied.
    """

    def has_instructions(self, capability: int) -> bool:
        """``mma`` with bfloat16, and ``cp.async``."""
        return capability >= _LEAST_CAPABILITY

    def space(self, operator: Operator, target: Target) -> Space:
        product = self.product(self.known(operator))
        most = shared_bytes_of(target.gpu_arch)
        return Space(
            [
                Ordinal("block_m", _sizes(product.rows)),
                Ordinal("block_n", _sizes(product.columns)),
                Ordinal("block_k", _BLOCK_DEPTHS),
                Ordinal("warps_m", _WARPS),
                Ordinal("warps_n", _WARPS),
                Ordinal("stages", _STAGES),
                Categorical("layout", LAYOUTS),
                Ordinal("group", _GROUPS),
                Ordinal("splits", splits_of(product, _BLOCK_DEPTHS[0])),
            ],
            [
                Constraint(f"warps_m * {STEP} <= block_m"),
                Constraint(f"warps_n * {STEP} <= block_n"),
                Constraint("warps_m * warps_n <= 32"),
                Constraint(f"block_m * block_n <= warps_m * warps_n * {_WARP_SUMS}"),
                Constraint(f"stages * block_k * (block_m + block_n) * 2 <= {most}"),
                enough_stretches(product),
            ],
        )

    def default(self, operator: Operator, target: Target) -> Config:
        product, most = self.product(self.known(operator)), shared_bytes_of(target.gpu_arch)
        uses = (TileUse(tile, product) for tile in _defaults(product))
        fitting = [(dataclasses.asdict(use.tile), use) for use in uses if use.allowed(most)]
        return default_of(fitting, _ENOUGH_BLOCKS)

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        gpu = Gpu.of(target)
        if gpu is None:
            return None
        known = self.known(operator)
        product = self.product(known)
        settings: dict[str, Any] = dict(config)
        use = TileUse(BlockTile(**settings), product)
        if not use.allowed(shared_bytes_of(target.gpu_arch)):
            return math.inf
        return tensor_seconds(use, gpu, bytes_of_tensors(known))

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        known = self.known(operator)
        product = self.product(known)
        with instantiating(self.space(operator, target), config):
            settings: dict[str, Any] = dict(config)
            use = TileUse(BlockTile(**settings), product)
            use.check(shared_bytes_of(target.gpu_arch))
            return tensor_program(known, use)


def _sizes(extent: int) -> tuple[int, ...]:
    """The sizes of tiles that are not twice as large as the result."""
    return tuple(size for size in _BLOCK_SIZES if size == STEP or size < 2 * extent)


def _defaults(product: Product) -> Iterator[BlockTile]:
    """Tiles that may be the default, the largest first."""
    rows, columns = max(_sizes(product.rows)), max(_sizes(product.columns))
    for block_m, block_n, warps_m, warps_n in _DEFAULT_TILES:
        m, n = min(block_m, rows), min(block_n, columns)
        yield BlockTile(
            block_m=m,
            block_n=n,
            block_k=_DEFAULT_DEPTH,
            warps_m=min(warps_m, m // STEP),
            warps_n=min(warps_n, n // STEP),
            stages=_DEFAULT_STAGES,
            layout=SWIZZLED,
            group=_DEFAULT_GROUP,
            splits=1,
        )
