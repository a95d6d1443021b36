"""What a block of threads may use on a GPU, checked before anything is compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tunesmith.cuda.multiprocessors import capability, multiprocessor
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.target import Target

WARP = 32
"""Threads that run together, and see each other's registers."""

# The compute capability from which on there is the instruction cp.async.
_ASYNCHRONOUS = 80
# What every GPU has that has this instruction, if a launch asks for it.
_LEAST_SHARED_BYTES = 99 * 1024


@dataclass(frozen=True)
class BlockUse:
    """What one block takes of a GPU.

    ``threads`` and ``grid`` are threads of a block and blocks of the grid along x, y and z.
    ``vthreads`` is how many virtual threads each thread stands for, ``register_bytes`` what the
    sums and copies of each take in registers, and ``shared_bytes`` the shared memory of the block.
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
    every GPU that CUDA 13 compiles for; shared memory is what a block has without asking for more
    at the launch. A thread has 255 registers of four bytes. Virtual threads are copies of a
    thread's code, so many of them are a program that takes minutes to compile.
    """

    threads: int = 1024
    threads_along: tuple[int, int, int] = (1024, 1024, 64)
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    vthreads: int = 64
    register_bytes: int = 255 * 4
    shared_bytes: int = 48 * 1024

    def check(self, use: BlockUse) -> None:
        """Raises ``InstantiationError`` with what is too much."""
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
        """Whether it is not too much."""
        try:
            self.check(use)
        except InstantiationError:
            return False
        return True


LIMITS = BlockLimits()
"""Of every GPU."""


def limits_of(target: Target) -> BlockLimits:
    """The limits of a target: with all the shared memory that a block may have there.

    A GPU that is not known, or not there to be asked, has what every GPU has.
    """
    arch = _arch(target)
    known = multiprocessor(arch) if arch else None
    if known is None:
        return LIMITS
    return replace(LIMITS, shared_bytes=known.shared_bytes - known.reserved_bytes)


def copies_asynchronously(target: Target) -> bool:
    """Whether threads can have memory copied to shared memory, and go on in the meantime."""
    arch = _arch(target)
    return arch is not None and capability(arch) >= _ASYNCHRONOUS


def _arch(target: Target) -> str | None:
    try:
        return target.gpu_arch
    except UsageError:
        return None


def shared_bytes_of(arch: str) -> int:
    """What shared memory a block can have on a GPU such as ``sm_90``; 0 before ``sm_80``.

    Of GPUs that are not known it is what all of them have.
    """
    if capability(arch) < _ASYNCHRONOUS:
        return 0
    known = multiprocessor(arch)
    return known.shared_bytes - known.reserved_bytes if known else _LEAST_SHARED_BYTES


def shared_scope(bytes_of_a_block: int) -> str:
    """Where TVM puts shared memory of that size: what a launch has to ask for is another place."""
    return "shared" if bytes_of_a_block <= LIMITS.shared_bytes else "shared.dyn"
