"""Figures of GPUs by generation, each those of a large GPU that is often used for computing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tunesmith.cuda.multiprocessors import Multiprocessor, capability, multiprocessor
from tunesmith.errors import InstantiationError
from tunesmith.sketches.cuda.limits import arch_of
from tunesmith.target import Target

# Between a multiprocessor and the L2 cache, bytes a cycle, all multiprocessors at work.
_L2_BYTES = 32


@dataclass(frozen=True)
class Gpu:
    """A GPU in figures.

    It has ``count`` multiprocessors, each with ``lanes`` for multiply-adds in float32 and, of all
    its tensor cores, ``tensor_lanes`` for those of 16-bit elements by ``mma``, at ``hertz``.
    ``memory_bytes`` are read from its memory a second, ``l2_size`` bytes are in its cache.
    """

    multiprocessor: Multiprocessor
    count: int
    lanes: int
    tensor_lanes: int
    hertz: float
    memory_bytes: float
    l2_size: float

    @staticmethod
    def of(target: Target) -> Gpu | None:
        """The figures of a target; None for an unknown GPU, and where there is none."""
        arch = arch_of(target)
        known = multiprocessor(arch) if arch else None
        figures = _FIGURES.get(capability(arch)) if arch else None
        return None if known is None or figures is None else Gpu(known, *figures)

    @property
    def l2_bytes(self) -> float:
        """Bytes a second from the L2 cache to all multiprocessors."""
        return _L2_BYTES * self.count * self.hertz


def estimated(target: Target, seconds: Callable[[Gpu], float]) -> float | None:
    """The seconds on a target's GPU, None for an unknown one.

    They are infinite where ``seconds`` raises ``InstantiationError``.
    """
    gpu = Gpu.of(target)
    if gpu is None:
        return None
    try:
        return seconds(gpu)
    except InstantiationError:
        return math.inf


# By compute capability, as in NVIDIA's white papers and data sheets of these: T4, A100, A40, Orin,
# L40S, H100, B200, B300, Thor, RTX PRO 6000, GB10. Of Hopper's tensor cores ``mma`` reaches about
# 0.6 (Luo et al. 2024, arXiv 2402.13499); of Blackwell's in data centres, which have another
# instruction of their own, it is taken to reach what an A100 has.
# Each is count, lanes, tensor_lanes, hertz, memory_bytes, l2_size.
_FIGURES: dict[int, tuple[int, int, int, float, float, float]] = {
    75: (40, 64, 512, 1.59e9, 0.32e12, 4e6),
    80: (108, 64, 1024, 1.41e9, 1.9e12, 40e6),
    86: (84, 128, 512, 1.74e9, 0.7e12, 6e6),
    87: (16, 128, 512, 1.3e9, 0.2e12, 4e6),
    89: (142, 128, 512, 2.5e9, 0.86e12, 96e6),
    90: (132, 128, 1280, 1.75e9, 3.3e12, 50e6),
    100: (148, 128, 1024, 1.85e9, 8e12, 126e6),
    103: (148, 128, 1024, 1.85e9, 8e12, 126e6),
    110: (20, 128, 1024, 1.57e9, 0.27e12, 32e6),
    120: (188, 128, 512, 2.4e9, 1.79e12, 128e6),
    121: (48, 128, 512, 2.4e9, 0.27e12, 24e6),
}
