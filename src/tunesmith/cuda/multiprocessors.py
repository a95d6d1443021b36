"""The resources of the multiprocessors of each NVIDIA architecture."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# Allocation units: registers of a warp, and bytes of shared memory of a block.
_WARP = 32
_REGISTER_UNIT = 256
_SHARED_UNIT = 128
# A multiprocessor has four partitions, each with its own warps and registers.
_PARTS = 4
_THREAD_REGISTERS = 255


@dataclass(frozen=True)
class Multiprocessor:
    """One multiprocessor's limits for the blocks that are resident at the same time.

    The system reserves ``reserved_bytes`` of shared memory for each block; one block may use all
    the rest.
    """

    threads: int
    blocks: int
    shared_bytes: int
    registers: int = 65536
    reserved_bytes: int = 1024

    def blocks_at_a_time(self, threads: int, registers: int, shared_bytes: int) -> int:
        """How many blocks of ``threads`` threads are resident at a time; 0 if none fits.

        ``registers`` are per thread, ``shared_bytes`` per block.
        """
        warps = math.ceil(threads / _WARP)
        of_a_warp = _up(registers * _WARP, _REGISTER_UNIT)
        shared = max(1, _up(shared_bytes + self.reserved_bytes, _SHARED_UNIT))
        warps_at_a_time = self.registers // _PARTS // max(1, of_a_warp) * _PARTS
        return min(
            self.blocks,
            self.threads // (warps * _WARP),
            warps_at_a_time // warps,
            self.shared_bytes // shared,
        )

    def most_registers(self, threads: int) -> int:
        """The most registers per thread with which a block of ``threads`` threads can run."""
        of_a_part = math.ceil(math.ceil(threads / _WARP) / _PARTS)
        of_a_warp = self.registers // _PARTS // of_a_part // _REGISTER_UNIT * _REGISTER_UNIT
        return min(_THREAD_REGISTERS, of_a_warp // _WARP)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


# By compute capability: the CUDA programming guide, "Technical Specifications per Compute
# Capability".
_MULTIPROCESSORS = {
    75: Multiprocessor(1024, 16, 64 * 1024, reserved_bytes=0),
    80: Multiprocessor(2048, 32, 164 * 1024),
    86: Multiprocessor(1536, 16, 100 * 1024),
    87: Multiprocessor(1536, 16, 164 * 1024),
    89: Multiprocessor(1536, 24, 100 * 1024),
    90: Multiprocessor(2048, 32, 228 * 1024),
    100: Multiprocessor(2048, 32, 228 * 1024),
    103: Multiprocessor(2048, 32, 228 * 1024),
    110: Multiprocessor(1536, 24, 228 * 1024),
    120: Multiprocessor(1536, 24, 100 * 1024),
    121: Multiprocessor(1536, 24, 100 * 1024),
}


def multiprocessor(arch: str) -> Multiprocessor | None:
    """The multiprocessor of an architecture such as ``sm_90``; None if it is not in the table."""
    return _MULTIPROCESSORS.get(capability(arch))


def capability(arch: str) -> int:
    """The compute capability of ``sm_90a`` as a number: 90."""
    return int(re.sub(r"\D", "", arch))
