"""The length of SVE's vectors, which the instructions leave to the processor."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

NEON_BYTES = 16

# Of processors by LLVM's name, where vectors are longer than NEON's.
_BYTES = {"a64fx": 64, "fujitsu-monaka": 32, "neoverse-v1": 32}

_PR_SVE_GET_VL = 51  # of Linux's prctl
_LENGTH = 0xFFFF  # the bits of its answer that are the length in bytes


def length_features(processor: str, *, here: bool) -> frozenset[str]:
    """``sve256`` and ``sve512``, if the SVE vectors of a processor have at least so many bits.

    ``here`` asks this machine, as its system can make them shorter. LLVM has no names for them.
    Code for vectors of 32 bytes runs where they are longer, too.
    """
    longest = own_bytes() if here else _BYTES.get(processor, NEON_BYTES)
    return frozenset(f"sve{8 * size}" for size in (32, 64) if size <= longest)


def vector_bytes(features: frozenset[str]) -> int:
    """The longest vectors of Arm processors with these features, in bytes."""
    return 64 if "sve512" in features else 32 if "sve256" in features else NEON_BYTES


def options(features: frozenset[str]) -> list[str]:
    """What tells LLVM that vectors are longer than NEON's: it keeps to NEON otherwise."""
    size = vector_bytes(features)
    return [f"-aarch64-sve-vector-bits-min:uint={8 * size}"] if size > NEON_BYTES else []


@cache
def own_bytes() -> int:
    """The bytes of SVE's vectors in this process; 0 on a machine without SVE."""
    if platform.machine() != "aarch64" or platform.system() != "Linux":
        return 0
    answer = int(ctypes.CDLL(None).prctl(_PR_SVE_GET_VL, 0, 0, 0, 0))
    return answer & _LENGTH if answer > 0 else 0
