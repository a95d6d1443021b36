"""What sketches for ``wgmma`` share: their choices, and their default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.cuda.mma.product_sketch import ProductSketch
from tunesmith.sketches.cuda.wgmma.estimate import warpgroup_seconds
from tunesmith.sketches.cuda.wgmma.instructions import ROWS
from tunesmith.sketches.cuda.wgmma.program import WarpgroupMultiplication
from tunesmith.sketches.cuda.wgmma.warpgroup_tile import WarpgroupTile, WarpgroupUse
from tunesmith.space import Ordinal

# The one generation that has the instructions; later ones have others.
_CAPABILITY = 90
# A thread has no more than 192 registers for sums.
_WARPGROUP_SUMS = 192 * 128


class WarpgroupSketch(ProductSketch[WarpgroupUse]):
    """Multiplies by ``wgmma``: each group of four warps has some rows of the block's tile."""

    block_m = (64, 128, 192, 256)
    block_n = (32, 64, 96, 128, 192, 256)
    block_k = (32, 64, 128)
    warps = (
        Ordinal("warpgroups", (1, 2, 3, 4)),
        Ordinal("stages", (2, 3, 4, 5, 6)),
        Ordinal("pending", (0, 1)),
    )
    conditions = (
        f"block_m % ({ROWS} * warpgroups) == 0",
        f"block_m * block_n <= warpgroups * {_WARPGROUP_SUMS}",
        "stages >= pending + 2",
    )
    default_tiles = ((128, 256, 2), (128, 128, 2), (64, 128, 1), (64, 64, 1), (64, 32, 1))
    default_block_k = 64
    multiplication = WarpgroupMultiplication

    def has_instructions(self, capability: int) -> bool:
        """``wgmma``."""
        return capability == _CAPABILITY

    def use(self, product: Product, settings: Mapping[str, Any]) -> WarpgroupUse:
        return WarpgroupUse(WarpgroupTile.of(**settings), product)

    def seconds(self, use: WarpgroupUse, gpu: Gpu, compulsory_bytes: float) -> float:
        return warpgroup_seconds(use, gpu, compulsory_bytes)

    def default_warps(self, block_m: int, block_n: int, *warps: int) -> dict[str, Any]:  # noqa: ARG002
        return {"warpgroups": min(warps[0], block_m // ROWS), "stages": 4, "pending": 1}
