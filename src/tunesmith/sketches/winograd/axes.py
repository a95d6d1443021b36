"""The two axes of a convolution's image, each cut into tiles by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tunesmith.operators import Conv2d
from tunesmith.sketches import emit
from tunesmith.sketches.winograd.minimal import Minimal, minimal, tile_sizes


@dataclass(frozen=True)
class Axis:
    """An axis of ``outputs`` pixels, each of ``taps`` inputs that are ``dilation`` apart.

    The outputs of a tile are ``dilation`` apart, too: so its inputs are, and those in between
    belong to other tiles. Tile ``t`` is one of phase ``t % dilation``.
    """

    outputs: int
    taps: int
    stride: int
    dilation: int

    def minimal(self, size: int) -> Minimal:
        """The transforms of tiles of so many outputs."""
        return minimal(size, self.taps, self.stride)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of tiles to choose from; none if this cannot be filtered.

        Each phase has a whole tile. Without dilation, a tile may be larger than the image.
        """
        if self.stride > 1 and self.dilation > 1:
            return ()
        shortest = self.outputs // self.dilation
        known = tile_sizes(self.taps, self.stride)
        return tuple(size for size in known if self.dilation == 1 or size <= shortest)

    def tiles(self, size: int) -> int:
        """How many tiles there are: as many in each phase."""
        return self.dilation * emit.tile_count(-(-self.outputs // self.dilation), size)

    def first(self, tile: Any, size: int) -> Any:
        """The first output of a tile: the last one begins early enough to be whole, if the image
        is as large."""
        if self.dilation == 1:
            return 0 if self.outputs <= size else emit.tile_start(tile, size, self.outputs)
        from tvm.tirx.script.builder import ir

        phase = emit.bind("phase", tile % self.dilation)
        last = (self.outputs - 1 - phase) // self.dilation - (size - 1)
        return phase + self.dilation * ir.min(tile // self.dilation * size, last)

    def reach(self, outputs: int) -> int:
        """How many inputs lie under so many neighbouring outputs of a tile, with those between."""
        return ((outputs - 1) * self.stride + self.taps - 1) * self.dilation + 1


def axes_of(operator: Conv2d) -> tuple[Axis, Axis]:
    """The rows and the columns of an operator."""
    rows, columns = (
        # What is between taps does not matter if there is but one.
        Axis(outputs, taps, stride, dilation if taps > 1 else 1)
        for outputs, taps, stride, dilation in zip(
            operator.output_image,
            operator.kernel,
            operator.stride,
            operator.dilation,
            strict=True,
        )
    )
    return rows, columns
