"""How a config of a GPU sketch shares the loops of a reduction among blocks and threads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tunesmith.operators import Operator, element_bits
from tunesmith.sketches.cuda.limits import BlockUse
from tunesmith.sketches.loop_nest import Access, LoopNest

Parts = tuple[int, ...]

DIMENSIONS = ("x", "y", "z")
"""Of the grid and of a block, the fastest first."""


@dataclass(frozen=True)
class Tiling:
    """Factors of the loops, and what else there is to choose.

    ``spatial`` has four factors for each spatial axis that is tiled: blocks, virtual threads,
    threads, and what a thread does by itself. ``reduction`` has two for each axis of the sum that
    is, steps and what is in shared memory at a time; or three, of which the last two share that
    out: what a thread has in registers at a time comes last. ``places`` names the dimension of
    every spatial axis; axes of the same dimension are fused there.

    ``staged`` are the inputs that go through shared memory; ``vector`` is how many elements a
    thread copies there at a time, fewer where they cannot be shared out evenly, and
    ``write_vector`` how many of the result it writes at a time, fewer where it has not so many.
    ``auto_unroll_max_step`` is the length of code up to which loops are unrolled: by TVM if
    ``unroll_explicit``, else by the CUDA compiler.
    """

    spatial: Mapping[str, Parts]
    reduction: Mapping[str, Parts]
    places: Mapping[str, str]
    staged: frozenset[str]
    vector: int = 1
    write_vector: int = 1
    auto_unroll_max_step: int = 0
    unroll_explicit: bool = False

    @property
    def depth(self) -> int:
        """How many factors an axis of the sum has: two or three."""
        return len(next(iter(self.reduction.values())))

    def along(self, part: int) -> tuple[int, int, int]:
        """The products of one of the four factors over the axes of x, y and z."""
        x, y, z = (
            math.prod(parts[part] for axis, parts in self.spatial.items() if self.places[axis] == d)
            for d in DIMENSIONS
        )
        return x, y, z

    def use(self, operator: Operator, nest: LoopNest) -> BlockUse:
        """What a block takes of the GPU."""
        vthreads = math.prod(self.along(1))
        sums = vthreads * math.prod(parts[3] for parts in self.spatial.values())
        staged = [access for access in nest.inputs if access.buffer in self.staged]
        sizes = {access.buffer: _bytes(_dtype(operator, access)) for access in staged}
        return BlockUse(
            threads=self.along(2),
            grid=self.along(0),
            vthreads=vthreads,
            register_bytes=sums * _bytes(operator.accumulate_dtype)
            + sum(self.copied_elements(access) * sizes[access.buffer] for access in staged),
            shared_bytes=sum(
                self.shared_elements(access) * sizes[access.buffer] for access in staged
            ),
        )

    def shared_elements(self, access: Access) -> int:
        """How many elements of an input a block has in shared memory at a time."""
        tiles = {axis: math.prod(parts[1:]) for axis, parts in self.spatial.items()}
        tiles |= {axis: math.prod(parts[1:]) for axis, parts in self.reduction.items()}
        return access.elements(tiles)

    def copied_elements(self, access: Access) -> int:
        """How many elements of an input a thread copies to registers at a time."""
        if self.depth < 3:
            return 0
        tiles = {axis: parts[1] * parts[3] for axis, parts in self.spatial.items()}
        tiles |= {axis: parts[2] for axis, parts in self.reduction.items()}
        return access.elements(tiles)


def _bytes(dtype: str) -> int:
    return element_bits(dtype) // 8


def _dtype(operator: Operator, access: Access) -> str:
    """The type of an input; a stage before the sum does not change that of what it reads."""
    types = {argument.name: argument.dtype for argument in operator.arguments}
    return types.get(access.buffer, operator.arguments[0].dtype)
