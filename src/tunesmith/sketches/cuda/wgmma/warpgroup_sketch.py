"""What sketches for ``wgmma`` share: their space, their default, and who can use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tunesmith.operators import Operator, ProductOperator
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import shared_bytes_of
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.cuda.mma.product_sketch import (
    ProductSketch,
    enough_k_tiles,
    splits_of,
)
from tunesmith.sketches.cuda.wgmma.estimate import warpgroup_seconds
from tunesmith.sketches.cuda.wgmma.instructions import ROWS
from tunesmith.sketches.cuda.wgmma.program import warpgroup_program
from tunesmith.sketches.cuda.wgmma.warpgroup_tile import WarpgroupTile, WarpgroupUse
from tunesmith.space import Constraint, Ordinal, Space
from tunesmith.target import Target

# The one generation that has the instructions; later ones have others.
_CAPABILITY = 90

_BLOCK_M = (64, 128, 192, 256)
_BLOCK_N = (32, 64, 96, 128, 192, 256)
_BLOCK_DEPTHS = (32, 64, 128)
_WARPGROUPS = (1, 2, 3, 4)
_STAGES = (2, 3, 4, 5, 6)
_PENDING = (0, 1)
_GROUPS = (1, 2, 4, 8, 16)
# A thread has no more than 192 registers for sums.
_WARPGROUP_SUMS = 192 * 128

# The default's tiles, with the warpgroups and stages of each.
_DEFAULT_TILES = (
    (128, 256, 2, 4),
    (128, 128, 2, 4),
    (64, 128, 1, 4),
    (64, 64, 1, 4),
    (64, 32, 1, 4),
)
_DEFAULT_DEPTH = 64
_DEFAULT_PENDING = 1
_DEFAULT_GROUP = 8


class WarpgroupSketch(ProductSketch[WarpgroupUse]):
    """Multiplies matrices of 16-bit elements by groups of four warps, with sums in float32.

    Each block has a tile of the result and each of its warpgroups some rows of that, in registers.
    K tiles of the operands are copied to shared memory, several ahead of the one that is
    multiplied from there.
    """

    def has_instructions(self, capability: int) -> bool:
        """``wgmma``."""
        return capability == _CAPABILITY

    def space(self, operator: Operator, target: Target) -> Space:
        product = self.product(self.known(operator))
        most = shared_bytes_of(target.gpu_arch)
        return Space(
            [
                Ordinal("block_m", _sizes(_BLOCK_M, product.rows)),
                Ordinal("block_n", _sizes(_BLOCK_N, product.columns)),
                Ordinal("block_k", _BLOCK_DEPTHS),
                Ordinal("warpgroups", _WARPGROUPS),
                Ordinal("stages", _STAGES),
                Ordinal("pending", _PENDING),
                Ordinal("group", _GROUPS),
                Ordinal("splits", splits_of(product, _BLOCK_DEPTHS[0])),
            ],
            [
                Constraint(f"block_m % ({ROWS} * warpgroups) == 0"),
                Constraint(f"block_m * block_n <= warpgroups * {_WARPGROUP_SUMS}"),
                Constraint("stages >= pending + 2"),
                Constraint(f"stages * block_k * (block_m + block_n) * 2 <= {most}"),
                enough_k_tiles(product),
            ],
        )

    def use(self, product: Product, settings: Mapping[str, Any]) -> WarpgroupUse:
        return WarpgroupUse(WarpgroupTile.of(**settings), product)

    def seconds(self, use: WarpgroupUse, gpu: Gpu, compulsory_bytes: float) -> float:
        return warpgroup_seconds(use, gpu, compulsory_bytes)

    def written(self, operator: ProductOperator, use: WarpgroupUse) -> Any:
        return warpgroup_program(operator, use)

    def defaults(self, product: Product) -> Iterator[dict[str, Any]]:
        rows, columns = _sizes(_BLOCK_M, product.rows)[-1], _sizes(_BLOCK_N, product.columns)[-1]
        for block_m, block_n, warpgroups, stages in _DEFAULT_TILES:
            m = min(block_m, rows)
            yield {
                "block_m": m,
                "block_n": min(block_n, columns),
                "block_k": _DEFAULT_DEPTH,
                "warpgroups": min(warpgroups, m // ROWS),
                "stages": stages,
                "pending": _DEFAULT_PENDING,
                "group": _DEFAULT_GROUP,
                "splits": 1,
            }


def _sizes(sizes: tuple[int, ...], extent: int) -> tuple[int, ...]:
    """The sizes of tiles that are not twice as large as the result."""
    return tuple(size for size in sizes if size == sizes[0] or size < 2 * extent)
