"""What the blocks of a tiled reduction do in each step, read off a tiling without its program.

Its figures are those of machine code that nvcc 13.0 makes for sm_90 of random configs of
``cuda_tiled`` and ``cuda_conv2d_direct``: registers, loads for each multiply-add, instructions
around them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tunesmith.operators import Operator
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.tiled.block_tiling import Tiling, element_bytes
from tunesmith.sketches.cuda.tiled.reads import Reads, reads_of
from tunesmith.sketches.tir.loop_nest import Access, LoopNest

# Statements that the CUDA compiler unrolls unasked.
_UNROLLED = 192
# Instructions for a copy of one vector: a load and a store, and their indices; more with padding or
# groups; fewer where the copy is asynchronous.
_COPY, _COMPUTED_COPY, _ASYNC_COPY = 6, 12, 4
# Instructions around the unrolled part of the sums, around a step, and for each sum at the end.
_AROUND_ROUND, _AROUND_STEP, _A_SUM = 6, 15, 4
# Registers of a thread besides its sums, its factors and what it copies.
_OTHER_REGISTERS = 26
# The part of the unrolled loads that is in registers ahead of its use, and the most of it.
_AHEAD, _MOST_AHEAD = 1 / 8, 32
# The part of a thread's copies by way of registers that is in flight, and the most of it.
_UNDER_WAY, _MOST_UNDER_WAY = 0.6, 96
# The latencies of the L2 cache, of a barrier, and of shared memory, in cycles.
_L2_CYCLES, _BARRIER_CYCLES, _SHARED_CYCLES = 300, 40, 25
# The hit rate of the L1 cache.
_L1_HITS = 0.5
_WORD, _SECTOR = 4, 32


def tiled_seconds(
    operator: Operator, nest: LoopNest, tiling: Tiling, gpu: Gpu, compulsory_bytes: float
) -> float:
    """About how long the launch takes that sums a nest as tiled.

    ``compulsory_bytes`` is what it reads and writes at the least.
    """
    work = work_of_tiles(operator, nest, tiling, gpu)
    return seconds(work, math.prod(tiling.along(0)), gpu, compulsory_bytes)


def work_of_tiles(operator: Operator, nest: LoopNest, tiling: Tiling, gpu: Gpu) -> BlockWork:
    """What each block does in that launch."""
    return _TiledWork(operator, nest, tiling).of_a_block(gpu)


def unrolled_part(nest: LoopNest, tiling: Tiling) -> Mapping[str, int]:
    """The part of a step that is unrolled, of each axis of the sum.

    A thread loads what it needs several times in that part once.
    """
    limit = max(tiling.auto_unroll_max_step, _UNROLLED)
    statements = math.prod(parts[1] * parts[3] for parts in tiling.spatial.values())
    part = dict.fromkeys(tiling.reduction, 1)
    for level, axis in itertools.product(range(tiling.depth - 1, 0, -1), reversed(nest.reduction)):
        extent = tiling.reduction[axis.name][level]
        statements *= extent
        if statements > limit:
            break
        part[axis.name] *= extent
    return part


@dataclass(frozen=True)
class _TiledWork:
    operator: Operator
    nest: LoopNest
    tiling: Tiling

    def of_a_block(self, gpu: Gpu) -> BlockWork:
        tiling = self.tiling
        use = tiling.use(self.operator, self.nest)
        warps = math.ceil(math.prod(use.threads) / WARP)
        reads = [self._reads(access) for access in self.nest.inputs]
        copies = [self._copies(access) for access in self._staged]
        multiply_adds = self._sums * self._terms
        loading = _AROUND_ROUND + sum(one.loads * one.instructions for one in reads)
        copying = _AROUND_STEP + sum(copy.count * copy.instructions for copy in copies)
        reading = sum(one.loads * one.wavefronts for one in reads)
        writing = sum(copy.count * copy.words for copy in copies)
        return BlockWork(
            threads=math.prod(use.threads),
            registers=self._registers(reads, copies),
            shared_bytes=use.shared_bytes,
            steps=tiling.steps,
            arithmetic=warps * WARP * multiply_adds / gpu.lanes,
            shared=warps * (self._rounds * reading + writing),
            instructions=warps * (multiply_adds + self._rounds * loading + copying),
            bytes=sum(self._bytes(access) for access in self.nest.inputs),
            waiting=self._waiting(reads_memory=len(copies) < len(reads)),
            outside=warps * self._sums * _A_SUM,
        )

    @property
    def _staged(self) -> list[Access]:
        return [access for access in self.nest.inputs if access.buffer in self.tiling.staged]

    # -- a thread's sums -------------------------------------------------------------------------

    @cached_property
    def _sums(self) -> int:
        """How many sums a thread has."""
        return math.prod(parts[1] * parts[3] for parts in self.tiling.spatial.values())

    @property
    def _terms(self) -> int:
        """How many terms a thread adds to each of them in a step."""
        return math.prod(math.prod(parts[1:]) for parts in self.tiling.reduction.values())

    @cached_property
    def _unrolled(self) -> Mapping[str, int]:
        return unrolled_part(self.nest, self.tiling)

    @property
    def _rounds(self) -> float:
        """How often a step does the unrolled part."""
        return self._terms / math.prod(self._unrolled.values())

    def _registers(self, reads: Sequence[Reads], copies: Sequence[_Copies]) -> int:
        factors = sum(one.factors for one in reads)
        ahead = min(_MOST_AHEAD, int(_AHEAD * sum(one.elements for one in reads)))
        words = 0.0 if self.tiling.asynchronous else sum(copy.count * copy.words for copy in copies)
        copied = min(_MOST_UNDER_WAY, int(_UNDER_WAY * words))
        return self._sums + factors + ahead + copied + _OTHER_REGISTERS

    def _reads(self, access: Access) -> Reads:
        size = element_bytes(self.operator, access)
        return reads_of(self.tiling, access, size, self._unrolled)

    # -- what a block copies ---------------------------------------------------------------------

    def _copies(self, access: Access) -> _Copies:
        tiling = self.tiling
        width = tiling.copy_width(access)
        together = math.prod(tiling.along(2)) * width
        if access.produced or any(access.groups):
            instructions = _COMPUTED_COPY
        else:
            instructions = _ASYNC_COPY if tiling.asynchronous else _COPY
        return _Copies(
            math.ceil(tiling.shared_elements(access) / together),
            instructions,
            max(1.0, width * element_bytes(self.operator, access) / _WORD),
        )

    def _bytes(self, access: Access) -> float:
        """What a block reads of an input in a step, in whole sectors of the cache."""
        run, rows, whole = 1, 1, True
        for extent, size in zip(
            reversed(access.box(self.tiling.step)), reversed(access.shape), strict=True
        ):
            if whole:
                run *= extent
                whole = extent == size
            else:
                rows *= extent
        length = run * element_bytes(self.operator, access)
        return rows * _SECTOR * (math.ceil(length / _SECTOR) + (length % _SECTOR > 0) / 2)

    def _waiting(self, *, reads_memory: bool) -> float:
        """The latency of a step in cycles: of factors, of memory, and of the barrier."""
        a_load = (1 - _L1_HITS) * _L2_CYCLES if reads_memory else _SHARED_CYCLES
        waiting = self._rounds * a_load
        if self.tiling.staged:
            # Pipelined copies have the time of the steps in between to arrive.
            ahead = self.tiling.stages - 1
            waiting += _BARRIER_CYCLES + _L2_CYCLES / (1 + 2 * ahead)
        return waiting


@dataclass(frozen=True)
class _Copies:
    """Of an input in a step: how many a thread makes, by how many instructions, of how many
    words."""

    count: int
    instructions: int
    words: float
