"""How long a GPU takes for blocks of threads, by what each of them does.

The units of a multiprocessor work at the same time: lanes for arithmetic, shared memory, the issue
of instructions, the path to the L2 cache. The busiest one decides how long many concurrent blocks
take; the latency of one block decides where there are too few to hide it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from tunesmith.features.estimate_parts import noted
from tunesmith.operators import Operator, element_bits
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import WARP

# Instructions that a multiprocessor issues a cycle, bytes that it gets from the L2 cache.
_ISSUE = 4
_BYTES = 64
# Cycles from one instruction of a warp to its next, where it is alone.
_ALONE = 2.0
# The part of the second busiest unit's time that the busiest one does not hide.
_EXPOSED = 0.3
# Cycles until a block's first step: launching it, computing where it is, the first data.
_BLOCK_CYCLES = 1000
# Seconds of a launch that follows another one in a CUDA graph, as times of an H200 suggest: with
# 2 us the three launches of Winograd's algorithm seemed slower than one of a worse program.
_LAUNCH_SECONDS = 0.6e-6
_NANOSECONDS = 1e9
# By what factor a thread is slower that spills all its registers.
_SPILLING = 8.0


@dataclass(frozen=True)
class BlockWork:
    """What a block of ``threads`` does, with ``registers`` each.

    Its ``steps`` follow each other. Each keeps the lanes for ``arithmetic`` cycles and shared
    memory for ``shared`` cycles busy, issues ``instructions`` of warps, and reads ``bytes`` of the
    L2 cache. ``waiting`` is the latency of a step: its loads and barriers. ``outside`` are
    instructions of warps before and after all steps.
    """

    threads: int
    registers: int
    shared_bytes: int
    steps: int
    arithmetic: float
    shared: float
    instructions: float
    bytes: float
    waiting: float
    outside: float = 0.0

    def step_cycles(self, blocks: int) -> float:
        """Cycles of a step of ``blocks`` blocks on one multiprocessor."""
        *_, second, busiest = sorted(
            (self.arithmetic, self.shared, self.instructions / _ISSUE, self.bytes / _BYTES)
        )
        busy = busiest + _EXPOSED * second
        of_a_warp = self.instructions / math.ceil(self.threads / WARP)
        alone = self.waiting + max(busy, of_a_warp * _ALONE)
        return max(blocks * busy, alone)

    def cycles(self, blocks: int) -> float:
        """Cycles of ``blocks`` blocks that begin together on one multiprocessor."""
        around = _BLOCK_CYCLES + blocks * self.outside / _ISSUE
        return self.steps * self.step_cycles(blocks) + around


def seconds(work: BlockWork, grid: int, gpu: Gpu, compulsory_bytes: float = 0.0) -> float:
    """The seconds of a launch of ``grid`` blocks; infinity where a block does not fit.

    ``compulsory_bytes`` is the least that it has to read and write. What of that does not fit into
    the L2 cache comes from the GPU's memory, also in repeated calls.
    """
    spilled = max(0, work.registers - gpu.multiprocessor.most_registers(work.threads))
    at_a_time = gpu.multiprocessor.blocks_at_a_time(
        work.threads, work.registers - spilled, work.shared_bytes
    )
    if at_a_time == 0:
        return math.inf
    full, rest = divmod(grid, at_a_time * gpu.count)
    cycles = full * work.cycles(at_a_time)
    if rest:
        cycles += work.cycles(math.ceil(rest / gpu.count))
    computing = cycles / gpu.hertz * (1 + _SPILLING * spilled / work.registers)
    from_l2 = grid * work.steps * work.bytes / gpu.l2_bytes
    from_memory = max(0.0, compulsory_bytes - gpu.l2_size) / gpu.memory_bytes
    parts = noted()
    if parts is not None:
        parts.computing += _NANOSECONDS * computing
        parts.moving += _NANOSECONDS * (from_l2 + from_memory)
        parts.bytes[0] += grid * work.steps * work.bytes
        parts.bytes[2] += max(0.0, compulsory_bytes - gpu.l2_size)
        parts.imbalance = max(parts.imbalance, (full + (rest > 0)) * at_a_time * gpu.count / grid)
        parts.regions += 1
    *_, second, busiest = sorted((computing, from_l2, from_memory))
    return busiest + _EXPOSED * second + _LAUNCH_SECONDS


@lru_cache(maxsize=64)
def bytes_of_tensors(operator: Operator) -> int:
    """The bytes that an operator has to read and write at least."""
    tensors = [*operator.arguments, operator.result]
    return sum(math.prod(each.shape) * element_bits(each.dtype) // 8 for each in tensors)
