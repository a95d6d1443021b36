"""The throughput of a core and of its caches: the figures that estimates are made of.

A sketch estimates the seconds of a config from the cycles that its register tiles take
(``Machine.register_tile_cycles``), those in which the caches move its data (``traffic_cycles``,
``copy_cycles``), and how its tasks are shared among the cores (``rounds``, ``seconds``). The
functions are plain arithmetic: only the order of configs matters, and they take microseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache

from tunesmith.compiler.llvm import host_processor
from tunesmith.features.estimate_parts import noted
from tunesmith.operators import element_bits
from tunesmith.sketches.cpu.model import processor
from tunesmith.sketches.cpu.model.processor import Caches, Core
from tunesmith.target import Target

# What starting a parallel region and waiting for the last core costs, measured with TVM's pool.
_REGION_SECONDS = 5e-6
# What a call costs before its first loop: checking the arguments.
_CALL_SECONDS = 1e-6
# The part of the shorter of computing and moving data that the other does not hide. Tiles wait for
# their first lines; fitted to measurements of blocked products (Zen 4).
_EXPOSED = 0.3
# The part of a cache that a working set can use: the rest holds streaming data.
_USABLE = 0.75
_LINE = 64
ASKED = 0.5
"""The part of the time of moving data that is left where they are prefetched. Fitted by eye to
direct convolutions of small images with many channels (Cascade Lake)."""


class Copy(Enum):
    """The access pattern of a copy; the value is its cycles an element on Zen 4.

    Whole vectors cost their loads and stores alone. ``STRIDED`` moves scalars one by one,
    ``GATHERED`` makes vectors of scalars (an insert each), and ``ALIASED`` does either with lines
    of the same sets of the cache, so that each element takes a line from the next level.
    """

    CONTIGUOUS = 0.0
    STRIDED = 1.5
    GATHERED = 2.0
    ALIASED = 6.0


@dataclass(frozen=True)
class Machine:
    """A target in figures. Sizes are in bytes, rates per core and cycle.

    ``core`` is one of the cores, ``caches`` what it reaches: L1 and L2 of its own, and the L3
    that it shares with the others.
    """

    cores: int
    vector_bytes: int
    vector_registers: int
    core: Core
    caches: Caches
    hertz: float

    @staticmethod
    def of(target: Target) -> Machine:
        """The figures of a target: those of this machine's caches if it compiles for this machine.

        Raises ``UsageError`` for a processor that LLVM does not know.
        """
        return _machine(target, target.core_count)

    def lanes(self, dtype: str) -> int:
        """How many elements of a type a vector holds."""
        return max(1, self.vector_bytes * 8 // element_bits(dtype))

    def vectors(self, elements: int, dtype: str) -> float:
        """How many times as long as a whole vector a vector of ``elements`` takes.

        Where a core computes whole vectors as two halves, half a vector takes half the time.
        """
        size = elements * self.vector_bytes // self.lanes(dtype)
        whole, rest = divmod(size, self.vector_bytes)
        halves = self.core.halves and 0 < 2 * rest <= self.vector_bytes
        return whole + (0.5 if halves else float(rest > 0))

    @property
    def peak(self) -> float:
        """float32 operations a second of all cores."""
        return 2 * self.core.fmas * self.lanes("float32") * self.hertz * self.cores

    def bandwidth(self, working_set: float) -> float:
        """Bytes a second that reach all cores, which share a working set, from where it lies.

        L1 and L2 are each core's own, and hold its part; both count as L2.
        """
        own = self.level_of(working_set / self.cores) < 2
        level = 1 if own else self.level_of(working_set)
        return self._bytes_per_cycle[level] * self.hertz * self.cores

    # -- computing -------------------------------------------------------------------------------

    def register_tile_cycles(
        self,
        fmas: float,
        loads: float,
        broadcasts: float = 0.0,
        stores: float = 0.0,
        *,
        shuffles: float = 0.0,
        accumulators: float | None = None,
        registers: float | None = None,
    ) -> float:
        """Cycles of one step of a register tile: those of the busiest unit of the core.

        All counts are vector instructions a step. ``fmas`` (or dot products) add to
        ``accumulators`` different sums, by default one each: an addition waits for the last one to
        the same sum. ``loads`` are whole vectors, ``broadcasts`` scalars from memory into all
        lanes. ``registers`` is how many the step keeps alive, by default the sums, the vectors that
        several broadcasts are multiplied with, and one more; those beyond the registers are
        spilled.
        """
        core = self.core
        sums = max(1.0, fmas if accumulators is None else accumulators)
        alive = sums + min(loads, broadcasts) + 1 if registers is None else registers
        spilled = max(0.0, alive - self.vector_registers)
        reading = (loads + spilled) / core.loads + broadcasts / core.broadcasts
        # A broadcast that one multiply-add needs is part of it.
        stored = stores + spilled
        waiting = _EXPOSED * spilled * (1 / core.loads + 1 / core.stores)
        issued = fmas + loads + spilled + stored + shuffles
        busiest = max(
            fmas / core.fmas,
            fmas / sums * core.fma_latency,
            reading,
            stored / core.stores,
            shuffles / core.shuffles,
            issued / core.issue,
        )
        return busiest + waiting

    # -- moving data -----------------------------------------------------------------------------

    @cached_property
    def usable_bytes(self) -> tuple[float, float, float]:
        """The largest working sets that L1, L2 and L3 keep beside streaming data."""
        caches = self.caches
        return _USABLE * caches.l1, _USABLE * caches.l2, _USABLE * caches.l3

    def level_of(self, working_set: float) -> int:
        """Which level holds a working set beside streaming data: 0 is L1, 3 is memory."""
        for level, size in enumerate(self.usable_bytes):
            if working_set <= size:
                return level
        return 3

    def traffic_cycles(self, l2: float = 0.0, l3: float = 0.0, memory: float = 0.0) -> float:
        """Cycles to move bytes from L2, from L3 and from memory to a core."""
        core = self.core
        parts = noted()
        if parts is not None:
            for level, count in enumerate((l2, l3, memory)):
                parts.bytes[level] += count
        return l2 / core.l2_bytes + l3 / core.l3_bytes + memory / core.memory_bytes

    def stream_cycles(self, count: float, working_set: float) -> float:
        """Cycles to read ``count`` bytes once that belong to a working set of that size.

        Data in L1 cost their loads alone, which ``register_tile_cycles`` counts.
        """
        level = self.level_of(working_set)
        if level == 0:
            return 0.0
        parts = noted()
        if parts is not None:
            parts.bytes[level - 1] += count
        return count / self._bytes_per_cycle[level]

    def copy_cycles(
        self, elements: float, itemsize: float = 4.0, how: Copy = Copy.CONTIGUOUS
    ) -> float:
        """Cycles to copy elements within L1 or L2; more comes from ``stream_cycles``."""
        vectors = elements * itemsize / self.vector_bytes
        core = self.core
        return max(vectors / core.loads, vectors / core.stores, elements * how.value)

    def crowded(self, count: float, run: float, stride: int) -> float:
        """Bytes of L1 that ``count`` bytes need that come in runs of ``run``, ``stride`` apart.

        Addresses that are 4096 bytes apart (in an L1 of 32 KiB with 8 ways) are in the same set,
        which has few ways. The strides of a tensor may be given by their greatest common divisor.
        """
        caches = self.caches
        period = caches.l1 // caches.l1_ways
        return count * max(1.0, math.gcd(stride, period) / max(run, _LINE))

    @staticmethod
    def overlapped(computing: float, moving: float) -> float:
        """Cycles of a loop that computes and moves data at the same time."""
        parts = noted()
        if parts is not None:
            parts.computing += computing
            parts.moving += moving
        return max(computing, moving) + _EXPOSED * min(computing, moving)

    # -- sharing ---------------------------------------------------------------------------------

    def rounds(self, tasks: int) -> float:
        """How many tasks of a parallel loop the busiest core runs: TVM shares them evenly."""
        rounds = math.ceil(tasks / self.cores)
        parts = noted()
        if parts is not None and tasks > 0:
            parts.imbalance = max(parts.imbalance, rounds * self.cores / tasks)
        return rounds

    def parallel_share(self, tasks: int) -> float:
        """The part of all work that the busiest core does: at best 1 / cores."""
        return self.rounds(tasks) / max(1, tasks)

    def seconds(self, cycles: float, regions: int = 1) -> float:
        """Seconds of a call in which the busiest core takes ``cycles``.

        ``regions`` is the number of its parallel loops, which run one after the other.
        """
        parts = noted()
        if parts is not None:
            parts.regions += regions
        waiting = regions * _REGION_SECONDS if self.cores > 1 else 0.0
        return cycles / self.hertz + waiting + _CALL_SECONDS

    @cached_property
    def _bytes_per_cycle(self) -> tuple[float, ...]:
        core = self.core
        return math.inf, core.l2_bytes, core.l3_bytes, core.memory_bytes


@lru_cache(maxsize=64)
def _machine(target: Target, cores: int) -> Machine:
    own = target.triple is None and target.mcpu in (None, host_processor())
    core = processor.core_of(target.processor)
    caches = processor.caches_of(target.processor)
    known = target.instructions
    return Machine(
        cores=cores,
        vector_bytes=4 * target.lanes("float32"),
        vector_registers=32 if known & {"avx512f", "neon", "sve"} else 16,
        core=core,
        caches=replace(caches, **processor.measured_caches()) if own else caches,
        hertz=(processor.measured_hertz() if own else None) or core.hertz,
    )
