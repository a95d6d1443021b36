"""The fragments of an operand in a warp's registers, in the layout of ``mma``."""

from __future__ import annotations

from typing import Any

from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.cuda.mma.block_tile import STEP
from tunesmith.sketches.cuda.mma.matrix import DEPTH, Matrix
from tunesmith.sketches.cuda.mma.shared_tile import CHUNK, SharedTile
from tunesmith.sketches.tir import emit

# Registers of a thread that hold a 16x16 tile of 16-bit elements.
_REGISTERS = 4


class Fragments:
    """A warp's rows (left) or columns (right), 16 elements of the sum at a time, in registers.

    With two ``sets`` they are double buffered: one is multiplied while the next one is loaded.
    """

    def __init__(
        self,
        matrix: Matrix,
        tile: SharedTile,
        *,
        is_left: bool,
        shared: Any,
        first_element: int,
        size: int,
        steps: int,
    ) -> None:
        self.tile = tile
        self.is_left = is_left
        self.shared = shared
        self.first_element = first_element
        self.along_depth = matrix.shared_along == DEPTH
        self.count = size // STEP
        self.steps = steps
        self.sets = min(2, steps)
        self.registers = emit.buffer(
            "left_factors" if is_left else "right_factors",
            (self.sets * self.count * _REGISTERS,),
            "uint32",
            scope="local",
        )
        self._places: list[Any] = []

    def prepare(self, first: Any, lane: Any) -> None:
        """Compute what is the same for all k tiles; ``first`` is the warp's first row or column in
        the block's tile."""
        # The four 8x8 matrices follow each other down the rows of the left operand's 16x16 tile
        # first, and down the sums of the right one's. In shared memory either may be the rows.
        if self.is_left == self.along_depth:
            row, chunk = lane % STEP, lane // STEP
        else:
            row, chunk = lane % CHUNK + lane // STEP * CHUNK, lane // CHUNK % 2
        for step in range(self.steps if self.along_depth else self.count):
            along = step * (STEP // CHUNK) + chunk
            place = (
                self.tile.place(first + row, along)
                if self.along_depth
                else self.tile.place(row, first // CHUNK + along)
            )
            self._places.append(emit.bind("place", self.first_element + place))

    def load(self, step: int, stage: Any) -> None:
        """Load all 16x16 tiles of a step from the stage with this first element."""
        for number in range(self.count):
            along, across = (step, number) if self.along_depth else (number, step)
            at = stage + self._places[along] + across * STEP * self.tile.stride
            device.load_matrices(
                self._tile(step, number),
                device.address(self.shared, at),
                transposed=not self.along_depth,
            )

    def left(self, step: int, number: int) -> list[Any]:
        """The registers of 16 rows."""
        return self._tile(step, number)

    def right(self, step: int, number: int) -> list[Any]:
        """The registers of eight columns."""
        registers = self._tile(step, number // 2)
        return registers[2:] if number % 2 else registers[:2]

    def _tile(self, step: int, number: int) -> list[Any]:
        first = (step % self.sets * self.count + number) * _REGISTERS
        return [self.registers[first + register] for register in range(_REGISTERS)]
