"""What sketches for ``mma`` share: their choices, and their default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.mma.block_tile import STEP, BlockTile, TileUse
from tunesmith.sketches.cuda.mma.estimate import tensor_seconds
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.cuda.mma.product_sketch import ProductSketch
from tunesmith.sketches.cuda.mma.program import TensorMultiplication
from tunesmith.sketches.cuda.mma.shared_tile import LAYOUTS, SWIZZLED
from tunesmith.space import Categorical, Ordinal

_LEAST_CAPABILITY = 80
_WARPS = (1, 2, 4, 8)
# A thread has no more than 128 registers for sums, or 64x64 a warp.
_WARP_SUMS = 64 * 64


class TensorSketch(ProductSketch[TileUse]):
    """Multiplies by ``mma``: each warp has a part of the block's tile."""

    block_m = (16, 32, 64, 128, 256)
    block_n = block_m
    block_k = (16, 32, 64)
    warps = (
        Ordinal("warps_m", _WARPS),
        Ordinal("warps_n", _WARPS),
        Ordinal("stages", (1, 2, 3, 4, 5, 6)),
        Categorical("layout", LAYOUTS),
    )
    conditions = (
        f"warps_m * {STEP} <= block_m",
        f"warps_n * {STEP} <= block_n",
        "warps_m * warps_n <= 32",
        f"block_m * block_n <= warps_m * warps_n * {_WARP_SUMS}",
    )
    default_tiles = (
        (128, 128, 2, 2),
        (128, 64, 2, 2),
        (64, 64, 2, 2),
        (64, 32, 2, 1),
        (32, 32, 1, 1),
    )
    default_block_k = 32
    multiplication = TensorMultiplication

    def has_instructions(self, capability: int) -> bool:
        """``mma`` with bfloat16, and ``cp.async``."""
        return capability >= _LEAST_CAPABILITY

    def use(self, product: Product, settings: Mapping[str, Any]) -> TileUse:
        return TileUse(BlockTile(**settings), product)

    def seconds(self, use: TileUse, gpu: Gpu, compulsory_bytes: float) -> float:
        return tensor_seconds(use, gpu, compulsory_bytes)

    def default_warps(self, block_m: int, block_n: int, *warps: int) -> dict[str, Any]:
        warps_m, warps_n = min(warps[0], block_m // STEP), min(warps[1], block_n // STEP)
        return {"warps_m": warps_m, "warps_n": warps_n, "stages": 4, "layout": SWIZZLED}
