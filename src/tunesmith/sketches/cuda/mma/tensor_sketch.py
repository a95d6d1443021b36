"""What sketches for ``mma`` share: their space, and their default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tunesmith.operators import Operator, ProductOperator
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import shared_bytes_of
from tunesmith.sketches.cuda.mma.block_tile import STEP, BlockTile, TileUse
from tunesmith.sketches.cuda.mma.estimate import tensor_seconds
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.cuda.mma.product_sketch import (
    ProductSketch,
    enough_k_tiles,
    splits_of,
)
from tunesmith.sketches.cuda.mma.program import tensor_program
from tunesmith.sketches.cuda.mma.shared_tile import LAYOUTS, SWIZZLED
from tunesmith.space import Categorical, Constraint, Ordinal, Space
from tunesmith.target import Target

_LEAST_CAPABILITY = 80

_BLOCK_SIZES = (16, 32, 64, 128, 256)
_BLOCK_DEPTHS = (16, 32, 64)
_WARPS = (1, 2, 4, 8)
_STAGES = (1, 2, 3, 4, 5, 6)
_GROUPS = (1, 2, 4, 8, 16)
# A thread has no more than 128 registers for sums, or 64x64 a warp.
_WARP_SUMS = 64 * 64

# The default's tiles, with the warps of each.
_DEFAULT_TILES = (
    (128, 128, 2, 2),
    (128, 64, 2, 2),
    (64, 64, 2, 2),
    (64, 32, 2, 1),
    (32, 32, 1, 1),
)
_DEFAULT_DEPTH = 32
_DEFAULT_STAGES = 4
_DEFAULT_GROUP = 8


class TensorSketch(ProductSketch[TileUse]):
    """Multiplies matrices of 16-bit elements on tensor cores, with sums in float32.

    Each block has a tile of the result and each of its warps a part of that, in registers.
    K tiles of the operands are copied to shared memory, several ahead of the one that is
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
                enough_k_tiles(product),
            ],
        )

    def use(self, product: Product, settings: Mapping[str, Any]) -> TileUse:
        return TileUse(BlockTile(**settings), product)

    def seconds(self, use: TileUse, gpu: Gpu, compulsory_bytes: float) -> float:
        return tensor_seconds(use, gpu, compulsory_bytes)

    def written(self, operator: ProductOperator, use: TileUse) -> Any:
        return tensor_program(operator, use)

    def defaults(self, product: Product) -> Iterator[dict[str, Any]]:
        rows, columns = max(_sizes(product.rows)), max(_sizes(product.columns))
        for block_m, block_n, warps_m, warps_n in _DEFAULT_TILES:
            m, n = min(block_m, rows), min(block_n, columns)
            yield {
                "block_m": m,
                "block_n": n,
                "block_k": _DEFAULT_DEPTH,
                "warps_m": min(warps_m, m // STEP),
                "warps_n": min(warps_n, n // STEP),
                "stages": _DEFAULT_STAGES,
                "layout": SWIZZLED,
                "group": _DEFAULT_GROUP,
                "splits": 1,
            }


def _sizes(extent: int) -> tuple[int, ...]:
    """The sizes of tiles that are not twice as large as the result."""
    return tuple(size for size in _BLOCK_SIZES if size == STEP or size < 2 * extent)
