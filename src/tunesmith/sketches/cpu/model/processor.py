"""Figures of processors: from published tables by LLVM's name, and from the running system.

Rates are those of the widest vectors of each, from Agner Fog's "Instruction tables" and uops.info;
bytes a cycle from the vendors' optimisation manuals and, for Zen 4, from measurements of one core
of a virtual machine (repeated reads of 512 KiB, 8 MiB and 256 MiB; the clock from dependent
additions). They need not be exact: only the order of configs depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_FASTEST = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
_KIB, _MIB = 2**10, 2**20


@dataclass(frozen=True)
class Core:
    """What a core does in a cycle: vector instructions, and bytes from each level.

    ``broadcasts`` are scalars from memory into all lanes, which take from what ``loads`` can do;
    ``fma_latency`` is in cycles, ``issue`` counts instructions of any kind. ``l2_bytes`` and so on
    are what reaches the core when all of it comes from that level. ``halves``: the widest vectors
    are done in two halves, and vectors of half the width twice as often.
    """

    fmas: float = 2
    loads: float = 2
    broadcasts: float = 2
    stores: float = 1
    shuffles: float = 1
    issue: float = 4
    fma_latency: float = 4
    l2_bytes: float = 32
    l3_bytes: float = 12
    memory_bytes: float = 5
    hertz: float = 3e9
    halves: bool = False


@dataclass(frozen=True)
class Caches:
    """Bytes of data that each level holds; the L3 is all cores' together."""

    l1: int = 32 * _KIB
    l1_ways: int = 8
    l2: int = _MIB
    l3: int = 32 * _MIB


_AVX512_SERVER = Core(l2_bytes=48, l3_bytes=10)
_CORES: dict[str, Core] = {
    "znver1": Core(fmas=1, loads=1, stores=0.5, issue=5, fma_latency=5, l3_bytes=16),
    "znver2": Core(issue=6, fma_latency=5, l3_bytes=20),
    "znver3": Core(issue=6, shuffles=2, l3_bytes=24, hertz=3.5e9),
    # Vectors of 64 bytes take both halves of each 32-byte unit; a scalar for all lanes takes one.
    "znver4": Core(
        fmas=1,
        loads=1,
        stores=0.5,
        issue=6,
        l3_bytes=26,
        memory_bytes=8,
        hertz=3.7e9,
        halves=True,
    ),
    "znver5": Core(issue=8, shuffles=2, l2_bytes=64, l3_bytes=26, memory_bytes=8, hertz=4e9),
    "skylake-avx512": _AVX512_SERVER,
    "cascadelake": _AVX512_SERVER,
    "cooperlake": _AVX512_SERVER,
    "icelake-server": Core(issue=5, l2_bytes=48, l3_bytes=10),
    "sapphirerapids": Core(issue=6, l2_bytes=48, l3_bytes=10),
    "emeraldrapids": Core(issue=6, l2_bytes=48, l3_bytes=10),
    "graniterapids": Core(issue=6, l2_bytes=48, l3_bytes=10),
    # One unit for vectors of 64 bytes.
    "icelake-client": Core(fmas=1, issue=5, l2_bytes=48, l3_bytes=16, hertz=3.5e9),
    "tigerlake": Core(fmas=1, issue=5, l2_bytes=48, l3_bytes=16, hertz=4e9),
    "rocketlake": Core(fmas=1, issue=5, l2_bytes=48, l3_bytes=16, hertz=4.5e9),
    "haswell": Core(fma_latency=5, hertz=3.3e9),
    "broadwell": Core(fma_latency=5, hertz=3.3e9),
    "alderlake": Core(loads=3, broadcasts=3, issue=6, l2_bytes=48, l3_bytes=16, hertz=4.5e9),
    "neoverse-n1": Core(issue=4, hertz=2.6e9),
    # Vectors of 32 bytes by SVE; NEON's are done twice as often.
    "neoverse-v1": Core(shuffles=2, issue=8, hertz=2.6e9),
    "neoverse-v2": Core(fmas=4, loads=3, broadcasts=3, stores=2, shuffles=4, issue=8),
    "a64fx": Core(fma_latency=9, l2_bytes=43, l3_bytes=43, memory_bytes=10, hertz=2.2e9),
    "apple-m1": Core(fmas=4, loads=3, broadcasts=3, stores=2, shuffles=4, issue=8, hertz=3.2e9),
}

_SKYLAKE = Caches(l3=28 * _MIB)
_CACHES_OF: dict[str, Caches] = {
    "znver1": Caches(l2=512 * _KIB, l3=8 * _MIB),
    "znver2": Caches(l2=512 * _KIB, l3=16 * _MIB),
    "znver3": Caches(l2=512 * _KIB),
    "znver5": Caches(l1=48 * _KIB, l1_ways=12),
    "skylake-avx512": _SKYLAKE,
    "cascadelake": _SKYLAKE,
    "cooperlake": _SKYLAKE,
    "icelake-server": Caches(48 * _KIB, 12, 1280 * _KIB, 36 * _MIB),
    "sapphirerapids": Caches(48 * _KIB, 12, 2 * _MIB, 60 * _MIB),
    "emeraldrapids": Caches(48 * _KIB, 12, 2 * _MIB, 160 * _MIB),
    "graniterapids": Caches(48 * _KIB, 12, 2 * _MIB, 288 * _MIB),
    "icelake-client": Caches(48 * _KIB, 12, 512 * _KIB, 8 * _MIB),
    "tigerlake": Caches(48 * _KIB, 12, 1280 * _KIB, 12 * _MIB),
    "rocketlake": Caches(48 * _KIB, 12, 512 * _KIB, 16 * _MIB),
    "haswell": Caches(l2=256 * _KIB, l3=8 * _MIB),
    "broadwell": Caches(l2=256 * _KIB, l3=8 * _MIB),
    "alderlake": Caches(48 * _KIB, 12, 1280 * _KIB, 30 * _MIB),
    "neoverse-n1": Caches(64 * _KIB, 4),
    "neoverse-v1": Caches(64 * _KIB, 4),
    "neoverse-v2": Caches(64 * _KIB, 4, 2 * _MIB),
    # Its L2 is shared by twelve cores, as other processors' L3 is.
    "a64fx": Caches(64 * _KIB, 4, 64 * _KIB, 8 * _MIB),
    "apple-m1": Caches(128 * _KIB, 8, 12 * _MIB, 8 * _MIB),
}


def core_of(processor: str) -> Core:
    """The figures of a processor by LLVM's name; a typical core where the name says nothing."""
    return _CORES.get(processor, Core())


def caches_of(processor: str) -> Caches:
    """Typical sizes for a processor by LLVM's name."""
    return _CACHES_OF.get(processor, Caches())


@lru_cache(maxsize=1)
def measured_caches() -> dict[str, int]:
    """This machine's sizes, as fields of ``Caches``: those that the system reports."""
    return read_caches(_CACHES)


def read_caches(folder: Path) -> dict[str, int]:
    """The sizes in a folder like ``/sys/devices/system/cpu/cpu0/cache``, without unreadable ones.

    Virtual machines often have none, or no number of ways.
    """
    found: dict[str, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            kind, level = _read(index / "type"), _read(index / "level")
            if kind in ("Data", "Unified") and level in ("1", "2", "3"):
                found[f"l{level}"] = _size(_read(index / "size"))
                if level == "1":
                    found["l1_ways"] = int(_read(index / "ways_of_associativity"))
        except (OSError, ValueError):
            continue
    return {name: value for name, value in found.items() if value > 0}


@lru_cache(maxsize=1)
def measured_hertz() -> float | None:
    """The highest clock that the system reports; None where it does not (virtual machines)."""
    try:
        return float(_read(_FASTEST)) * 1e3 or None
    except (OSError, ValueError):
        return None


def _read(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()


def _size(text: str) -> int:
    units = {"K": _KIB, "M": _MIB, "G": 2**30}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)
