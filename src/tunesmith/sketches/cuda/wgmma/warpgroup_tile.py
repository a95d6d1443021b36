"""The tile of a block and of its warpgroups in a product, and the resources it takes."""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.mma.block_tile import BlockTile, TileUse
from tunesmith.sketches.cuda.mma.matrix import DEPTH, Matrix
from tunesmith.sketches.cuda.mma.shared_tile import SWIZZLED
from tunesmith.sketches.cuda.wgmma.instructions import WARPGROUP
from tunesmith.sketches.cuda.wgmma.operand_tile import OperandTile


@dataclass(frozen=True)
class WarpgroupTile(BlockTile):
    """The result's tile of a block, whose rows its warpgroups share evenly.

    ``pending`` groups of products are in flight while the next one is begun.
    """

    pending: int

    @classmethod
    def of(
        cls,
        *,
        block_m: int,
        block_n: int,
        block_k: int,
        warpgroups: int,
        stages: int,
        pending: int,
        group: int,
        splits: int,
    ) -> WarpgroupTile:
        """The tile of a config."""
        return cls(
            block_m=block_m,
            block_n=block_n,
            block_k=block_k,
            warps_m=warpgroups * (WARPGROUP // WARP),
            warps_n=1,
            stages=stages,
            layout=SWIZZLED,
            group=group,
            splits=splits,
            pending=pending,
        )

    @property
    def warpgroup_m(self) -> int:
        """Rows of the result of a warpgroup."""
        return self.block_m // (self.threads // WARPGROUP)

    @property
    def ahead(self) -> int:
        """K tiles that are copied while one is multiplied: its stage is in use, and so are those
        of the products that are in flight."""
        return self.stages - 1 - self.pending

    def shared_tile(self, matrix: Matrix, size: int) -> OperandTile:
        """An operand's tile in shared memory, of ``size`` rows or columns of the result."""
        along_depth = matrix.shared_along == DEPTH
        rows, columns = (size, self.block_k) if along_depth else (self.block_k, size)
        return OperandTile.of(rows, columns, along_depth=along_depth)


@dataclass(frozen=True)
class WarpgroupUse(TileUse):
    """Its resources: no registers for fragments, since operands are read from shared memory."""

    tile: WarpgroupTile

    @property
    def factors(self) -> int:
        """Registers of a thread for fragments."""
        return 0
