"""How a config of a GPU sketch shares the loops of a reduction among blocks and threads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator, element_bits
from tunesmith.sketches.cuda.limits import BlockUse
from tunesmith.sketches.tir.loop_nest import Access, LoopNest

Parts = tuple[int, ...]

DIMENSIONS = ("x", "y", "z")
"""Of the grid and of a block, the fastest first."""

# Bytes of an asynchronous copy: 4, 8 or 16.
_LEAST_COPY = 4


@dataclass(frozen=True)
class Tiling:
    """Factors of the loops, and what else there is to choose.

    ``spatial`` has four factors for each spatial axis that is tiled: blocks, virtual threads,
    threads, and elements of a thread. ``reduction`` has two for each tiled axis of the sum, steps
    and the k tile in shared memory; or three, of which the last two divide the k tile: the last one
    is what a thread has in registers at a time. ``places`` has the dimension of every spatial axis;
    axes of the same dimension are fused.

    ``staged`` are the inputs that are copied to shared memory; ``vector`` is how many elements a
    thread copies there at a time, fewer where they do not divide evenly, and ``write_vector`` how
    many of the result it stores at a time, fewer where it has fewer. ``auto_unroll_max_step`` is
    the length of code up to which loops are unrolled: by TVM if ``unroll_explicit``, else by the
    CUDA compiler.

    With more than one of ``stages``, copies are pipelined: one step ahead by way of registers
    (double buffering), or ``stages - 1`` steps ahead if they are ``asynchronous``, each stage with
    its own part of shared memory.

    A block has ``slices`` of threads along y, which share every sum: in each step a slice has its
    own part of the axis ``sliced``. Then no spatial axis may be along y.
    """

    spatial: Mapping[str, Parts]
    reduction: Mapping[str, Parts]
    places: Mapping[str, str]
    staged: frozenset[str]
    vector: int = 1
    write_vector: int = 1
    auto_unroll_max_step: int = 0
    unroll_explicit: bool = False
    stages: int = 1
    asynchronous: bool = False
    slices: int = 1
    sliced: str | None = None

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
        return x, y * (self.slices if part == 2 else 1), z

    @property
    def steps(self) -> int:
        """The number of steps of a block."""
        return math.prod(parts[0] for parts in self.reduction.values())

    def use(self, operator: Operator, nest: LoopNest) -> BlockUse:
        """What a block takes of the GPU."""
        vthreads = math.prod(self.along(1))
        sums = vthreads * math.prod(parts[3] for parts in self.spatial.values())
        staged = [access for access in nest.inputs if access.buffer in self.staged]
        sizes = {access.buffer: element_bytes(operator, access) for access in staged}
        return BlockUse(
            threads=self.along(2),
            grid=self.along(0),
            vthreads=vthreads,
            register_bytes=sums * _bytes(operator.accumulate_dtype)
            + sum(self.copied_elements(access) * sizes[access.buffer] for access in staged)
            + sum(self.ahead_elements(access) * sizes[access.buffer] for access in staged),
            shared_bytes=sum(
                self.shared_elements(access) * sizes[access.buffer] for access in staged
            )
            * (self.stages if self.asynchronous else 1)
            + (self._partial_sums() * _bytes(operator.accumulate_dtype) if self.slices > 1 else 0),
        )

    def _partial_sums(self) -> int:
        """The most partial sums of a block's slices, which are added up at the end.

        TVM rounds the longest stride up to what all threads of the block read in whole turns.
        """
        tiles = [math.prod(parts[1:]) for parts in self.spatial.values()]
        rest = math.prod(tiles) // next((tile for tile in tiles if tile > 1), 1)
        turn = math.prod(self.along(2))
        read = -(-math.prod(tiles) // turn) * turn
        return self.slices * -(-read // rest) * rest

    def check_stages(self, operator: Operator, nest: LoopNest) -> None:
        """Raises ``InstantiationError`` where copies cannot be pipelined like that."""
        if self.stages == 1:
            return
        if self.stages > self.steps:
            raise InstantiationError(f"{self.stages} stages of {self.steps} steps")
        if self.asynchronous and math.prod(self.along(2)) == 1:
            # TVM compiles a copy without threads for a DMA engine.
            raise InstantiationError("asynchronous copies by a single thread")
        for access in nest.inputs:
            size = element_bytes(operator, access) * self.copy_width(access)
            if self.asynchronous and access.buffer in self.staged and size < _LEAST_COPY:
                raise InstantiationError(
                    f"copies of {size} bytes of {access.buffer}: asynchronous ones have "
                    f"{_LEAST_COPY} at the least"
                )

    def copy_width(self, access: Access) -> int:
        """How many elements of an input a thread copies to shared memory at a time."""
        width = 1 if any(access.groups) else self.vector
        threads = math.prod(self.along(2))
        # TVM cannot vectorise a copy in whose last iteration only some threads take part.
        while width > 1 and self.shared_elements(access) % (threads * width):
            width //= 2
        if self.stages > 1:
            return math.gcd(width, self._run(access))
        return width

    def _run(self, access: Access) -> int:
        """A size of which rows of an input are multiples, in shared memory too.

        Pipelined copies must be contiguous vectors.
        """
        axis = access.axes[-1]
        if access.produced or axis is None:
            return 1
        spatial = self.spatial.get(axis)
        tile = math.prod(spatial[1:]) if spatial else self._of_a_step(axis)
        return math.gcd(access.shape[-1], tile)

    def ahead_elements(self, access: Access) -> int:
        """How many elements of an input a thread has in registers for the next step."""
        if self.stages == 1 or self.asynchronous:
            return 0
        return math.ceil(self.shared_elements(access) / math.prod(self.along(2)))

    def shared_elements(self, access: Access) -> int:
        """How many elements of an input a block has in shared memory at a time."""
        return access.elements(self.step)

    @cached_property
    def step(self) -> Mapping[str, int]:
        """The extent of each axis that a block computes in a step."""
        tiles = {axis: math.prod(parts[1:]) for axis, parts in self.spatial.items()}
        return tiles | {axis: self._of_a_step(axis) for axis in self.reduction}

    def _of_a_step(self, axis: str) -> int:
        """The extent of an axis of the sum that all threads of a block add in a step."""
        return math.prod(self.reduction[axis][1:]) * (self.slices if axis == self.sliced else 1)

    def copied_elements(self, access: Access) -> int:
        """How many elements of an input a thread copies to registers at a time."""
        if self.depth < 3:
            return 0
        tiles = {axis: parts[1] * parts[3] for axis, parts in self.spatial.items()}
        tiles |= {axis: parts[2] for axis, parts in self.reduction.items()}
        return access.elements(tiles)


def element_bytes(operator: Operator, access: Access) -> int:
    """The bytes of an element; stages before the sum have the type of what they read."""
    sizes = _argument_bytes(operator)
    return sizes.get(access.buffer, next(iter(sizes.values())))


@lru_cache(maxsize=64)
def _argument_bytes(operator: Operator) -> Mapping[str, int]:
    return {argument.name: _bytes(argument.dtype) for argument in operator.arguments}


def _bytes(dtype: str) -> int:
    return element_bits(dtype) // 8
