"""The two axes of a convolution's image, each with tiles of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Conv2d, Conv2dTranspose, sides
from tunesmith.sketches.tir import emit
from tunesmith.sketches.winograd.minimal import (
    Minimal,
    minimal,
    tile_sizes,
    transposed_minimal,
    turns,
)


@dataclass(frozen=True)
class Axis:
    """An axis of ``outputs`` pixels, each of ``taps`` inputs that are ``dilation`` apart.

    The outputs of a tile are ``dilation`` apart, too, and so are its inputs; those in between are
    of other tiles. Tile ``t`` is of phase ``t % dilation``. ``padding`` is before and behind the
    inputs.
    """

    inputs: int
    outputs: int
    taps: int
    stride: int
    dilation: int
    padding: tuple[int, int]

    def minimal(self, size: int) -> Minimal:
        """The transforms of tiles of ``size`` outputs."""
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
        """The first output of a tile: the last one begins early enough to be whole, unless it is
        larger than the image."""
        if self.dilation == 1:
            return 0 if self.outputs <= size else emit.tile_start(tile, size, self.outputs)
        from tvm.tirx.script.builder import ir

        phase = emit.bind("phase", tile % self.dilation)
        last = (self.outputs - 1 - phase) // self.dilation - (size - 1)
        return phase + self.dilation * ir.min(tile // self.dilation * size, last)

    def first_input(self, output: Any) -> Any:
        """The first input under an output that a tile begins with, padding counted."""
        return output * self.stride

    def reach(self, size: int, tiles: int = 1) -> int:
        """The inputs of ``tiles`` neighbouring tiles, those in between included."""
        return ((size * tiles - 1) * self.stride + self.taps - 1) * self.dilation + 1

    def before(self, size: int) -> int:  # noqa: ARG002 - it is that of any size
        """Zeros before the first input."""
        return self.padding[0]

    def padded(self, size: int) -> int:
        """Inputs with the zeros around, or those that a tile needs where it has fewer."""
        return max(self.inputs + sum(self.padding), self.reach(size))

    def cut(self, size: int) -> int:  # noqa: ARG002 - it is that of any size
        """Outputs of the first tile that are not the image's."""
        return 0

    def extent(self, size: int) -> int:  # noqa: ARG002 - it is that of any size
        """Outputs of all tiles: those of the image, and what is cut off."""
        return self.outputs


@dataclass(frozen=True)
class TransposedAxis:
    """An axis of a transposed convolution: its outputs have ``stride`` phases, called turns.

    A tile has equally many outputs of each turn. It begins with the first output, or with one that
    is cut off, if that takes no more tiles and the windows of all turns are then the same: then
    they share the transformed data.
    """

    inputs: int
    outputs: int
    taps: int
    stride: int
    padding: int
    dilation: ClassVar[int] = 1

    def minimal(self, size: int) -> Minimal:
        """The transforms of tiles of ``size`` outputs."""
        return transposed_minimal(size, self.taps, self.stride, self._origin(size))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of tiles to choose from; none if this cannot be filtered: where a turn has no
        taps, or the first output meets only inputs behind the first one."""
        if self.taps < self.stride or self.padding >= self.taps:
            return ()
        known = tile_sizes(-(-self.taps // self.stride), 1)
        sizes = tuple(size * self.stride for size in known)
        return sizes if all(self.before(size) >= 0 for size in sizes) else ()

    def tiles(self, size: int) -> int:
        """How many tiles there are."""
        return emit.tile_count(self.extent(size), size)

    def first(self, tile: Any, size: int) -> Any:
        """The first output of a tile, those that are cut off counted."""
        extent = self.extent(size)
        return 0 if extent <= size else emit.tile_start(tile, size, extent)

    def first_input(self, output: Any) -> Any:
        """The first input under an output that a tile begins with, padding counted."""
        return output // self.stride

    def reach(self, size: int, tiles: int = 1) -> int:
        """The inputs of ``tiles`` neighbouring tiles."""
        return self.minimal(size).inputs + (tiles - 1) * (size // self.stride)

    def before(self, size: int) -> int:
        """Zeros before the first input."""
        every = turns(self.taps, self.stride, self._origin(size))
        return max(turn.taps - 1 - turn.ahead for turn in every)

    def padded(self, size: int) -> int:
        """Inputs with the zeros around, as far as tiles need them."""
        return max(self.before(size) + self.inputs, self.reach(size, self.tiles(size)))

    def cut(self, size: int) -> int:
        """Outputs of the first tile that are not the image's."""
        shared = self.padding % self.stride
        more = self._tiles(size, shared) > self._tiles(size, 0)
        return 0 if more else shared

    def extent(self, size: int) -> int:
        """Outputs of all tiles: those of the image, and what is cut off."""
        return -(-(self.cut(size) + self.outputs) // self.stride) * self.stride

    def _origin(self, size: int) -> int:
        return self.padding - self.cut(size)

    def _tiles(self, size: int, cut: int) -> int:
        return -(-(cut + self.outputs) // size)


AnyAxis = Axis | TransposedAxis


@lru_cache(maxsize=64)
def axes_of(operator: Conv2d | Conv2dTranspose) -> tuple[AnyAxis, AnyAxis]:
    """The rows and the columns of an operator."""
    rows, columns = (_axis(operator, number) for number in range(2))
    return rows, columns


def _axis(operator: Conv2d | Conv2dTranspose, number: int) -> AnyAxis:
    inputs, outputs = (operator.h, operator.w)[number], operator.output_image[number]
    taps, stride = operator.kernel[number], operator.stride[number]
    if isinstance(operator, Conv2dTranspose):
        return TransposedAxis(inputs, outputs, taps, stride, operator.padding[number])
    # What is between taps does not matter if there is but one.
    dilation = operator.dilation[number] if taps > 1 else 1
    return Axis(inputs, outputs, taps, stride, dilation, sides(operator.padding)[number])
