"""The limits of a block of threads on a GPU, checked before anything is compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tunesmith.cuda.multiprocessors import capability, multiprocessor
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.target import Target

WARP = 32
"""Threads of a warp."""

# The first compute capability with the instruction cp.async.
_ASYNCHRONOUS = 80
# Shared memory of a block that every such GPU has, if the launch requests it.
_LEAST_SHARED_BYTES = 99 * 1024


@dataclass(frozen=True)
class BlockUse:
    """What one block takes of a GPU.

    ``threads`` and ``grid`` are threads of a block and blocks of the grid along x, y and z.
    ``vthreads`` is the number of virtual threads of a thread, ``register_bytes`` the registers of
    its sums and copies, and ``shared_bytes`` the shared memory of the block.
    """

    threads: tuple[int, int, int]
    grid: tuple[int, int, int]
    vthreads: int
    register_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class BlockLimits:
    """The most that a block may take.

    The figures are those of the CUDA programming guide's table of compute capabilities, the same on
    every GPU that CUDA 13 compiles for. Shared memory is what a block has unless the launch
    requests more. A thread has 255 registers of four bytes. Virtual threads are copies of a
    thread's code: with too many of them, a program takes minutes to compile.
    """

    threads: int = 1024
    threads_along: tuple[int, int, int] = (1024, 1024, 64)
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    vthreads: int = 64
    register_bytes: int = 255 * 4
    shared_bytes: int = 48 * 1024

    def check(self, use: BlockUse) -> None:
        """Raises ``InstantiationError`` for what exceeds the limits."""
        threads = math.prod(use.threads)
        if threads > self.threads:
            raise InstantiationError(
                f"a block of {threads} threads: the GPU's limit is {self.threads}"
            )
        for name, counts, most in (
            ("threads", use.threads, self.threads_along),
            ("blocks", use.grid, self.grid),
        ):
            for axis, count, limit in zip("xyz", counts, most, strict=True):
                if count > limit:
                    raise InstantiationError(
                        f"{count} {name} along {axis}: the GPU's limit is {limit}"
                    )
        if use.vthreads > self.vthreads:
            raise InstantiationError(
                f"{use.vthreads} virtual threads a thread: the limit is {self.vthreads}"
            )
        if use.register_bytes > self.register_bytes:
            raise InstantiationError(
                f"{use.register_bytes} bytes of sums and copies a thread: its registers have "
                f"{self.register_bytes}"
            )
        if use.shared_bytes > self.shared_bytes:
            raise InstantiationError(
                f"{use.shared_bytes} bytes of shared memory a block: the GPU's limit is "
                f"{self.shared_bytes}"
            )

    def allow(self, use: BlockUse) -> bool:
        """Whether it is within the limits."""
        try:
            self.check(use)
        except InstantiationError:
            return False
        return True


LIMITS = BlockLimits()
"""Of every GPU."""


def limits_of(target: Target) -> BlockLimits:
    """The limits of a target, with all shared memory that a block may request.

    For an unknown GPU, and without one, they are the limits of every GPU.
    """
    arch = arch_of(target)
    known = multiprocessor(arch) if arch else None
    if known is None:
        return LIMITS
    return replace(LIMITS, shared_bytes=known.shared_bytes - known.reserved_bytes)


def copies_asynchronously(target: Target) -> bool:
    """Whether the GPU has asynchronous copies to shared memory (``cp.async``)."""
    arch = arch_of(target)
    return arch is not None and capability(arch) >= _ASYNCHRONOUS


def arch_of(target: Target) -> str | None:
    """The architecture of a target's GPU, such as ``sm_90``; None where there is none."""
    try:
        return target.gpu_arch
    except UsageError:
        return None


def shared_bytes_of(arch: str) -> int:
    """The most shared memory of a block on a GPU such as ``sm_90``; 0 before ``sm_80``.

    For unknown GPUs it is what all since ``sm_80`` have.
    """
    if capability(arch) < _ASYNCHRONOUS:
        return 0
    known = multiprocessor(arch)
    return known.shared_bytes - known.reserved_bytes if known else _LEAST_SHARED_BYTES


def shared_scope(bytes_of_a_block: int) -> str:
    """TVM's scope for shared memory of that size: dynamic where the launch has to request it."""
    return "shared" if bytes_of_a_block <= LIMITS.shared_bytes else "shared.dyn"
