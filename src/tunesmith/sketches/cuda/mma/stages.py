"""The stages of shared memory that k tiles of both operands take turns in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cuda.mma.block_tile import TileUse
from tunesmith.sketches.cuda.mma.copies import Copier


@dataclass(frozen=True)
class Stages:
    """What copies k tiles of the operands, and where to."""

    use: TileUse
    copiers: Sequence[Copier]

    def start(self, k_tile: Any) -> Any:
        """The first element of a k tile's stage."""
        return k_tile % self.use.tile.stages * self.use.stage_elements

    def begin(self, k_tile: Any, stage: Any) -> None:
        """Begin to copy a k tile to the stage that starts at this element."""
        for copier in self.copiers:
            copier.begin(k_tile, stage)

    def finish(self, stage: Any) -> None:
        """Do what is left to do for it: it is there after the next wait and barrier."""
        for copier in self.copiers:
            copier.finish(stage)

    @property
    def gathered(self) -> bool:
        """Whether there is something left to do."""
        return any(copier.matrix.gathered for copier in self.copiers)
