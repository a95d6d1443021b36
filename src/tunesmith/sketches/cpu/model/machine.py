"""What a core can do in a cycle, and how far its data are: the figures that estimates are made of.

A sketch estimates the seconds of a config from the cycles that its register tiles take
(``Machine.register_tile_cycles``), those in which the caches move its data (``traffic_cycles``,
``copy_cycles``), and how its tasks are shared among the cores (``rounds``, ``seconds``). The
functions are plain arithmetic: what counts is the order of configs, and an answer in microseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from tunesmith.compiler.llvm import host_processor
from tunesmith.operators import element_bits
from tunesmith.sketches.cpu.model import processor
from tunesmith.sketches.cpu.model.processor import Caches, Core
from tunesmith.target import Target

# What starting a parallel region and waiting for the last core costs, measured with TVM's pool.
_REGION_SECONDS = 5e-6
# What a call costs before its first loop: checking the arguments.
_CALL_SECONDS = 1e-6
# Of whatever is shorter, computing or moving data, so much is not hidden behind the other. Tiles
# wait for their first lines; fitted to measurements of blocked products (Zen 4).
_EXPOSED = 0.3
# The part of a cache that a working set can have to itself: the rest is what passes through.
_USABLE = 0.75
_LINE = 64
ASKED = 0.5
"""Of the time in which data come, so much is left where they are asked for early. Fitted by eye to
direct convolutions of small images with many channels (Cascade Lake)."""


class Copy(Enum):
    """How a copy walks through memory; the value is its cycles an element on Zen 4.

    Whole vectors cost what their loads and stores cost and have no figure of their own. ``STRIDED``
    moves scalars one by one, ``GATHERED`` puts vectors together from scalars (an insert each), and
    ``ALIASED`` does either with lines that fall into the same sets of the cache, so that each
    element costs a line from the next level.
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
        """The figures of a target: of this machine's own caches if it compiles for this machine.

        Raises ``UsageError`` for a processor that LLVM does not know.
        """
        return _machine(target, target.core_count)

    def lanes(self, dtype: str) -> int:
        """How many elements of a type a vector holds."""
        return max(1, self.vector_bytes * 8 // element_bits(dtype))

    def vectors(self, elements: int, dtype: str) -> float:
        """How many whole vectors' time a vector of so many elements takes.

        Where whole vectors pass in two halves, half a vector takes half the time.
        """
        size = elements * self.vector_bytes // self.lanes(dtype)
        whole, rest = divmod(size, self.vector_bytes)
        halves = self.core.halves and 0 < 2 * rest <= self.vector_bytes
        return whole + (0.5 if halves else float(rest > 0))

    @property
    def peak(self) -> float:
        """float32 operations a second of all cores."""
        return 2 * self.core.fmas * self.lanes("float32") * self.hertz * self.cores

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
        """Cycles of one step of a register tile: what the busiest part of the core needs.

        All counts are vector instructions a step. ``fmas`` (or dot products) are done on
        ``accumulators`` different sums, by default as many: a sum cannot be added to before its
        last addition is through. ``loads`` are whole vectors, ``broadcasts`` scalars from memory
        into all lanes; ``registers`` is how many the step keeps alive (by default the sums, the
        vectors that several broadcasts meet, and one more); those beyond what there is are stored
        and loaded again, and waited for.
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

    @property
    def usable_bytes(self) -> tuple[float, float, float]:
        """How large a working set L1, L2 and L3 keep beside what passes through."""
        caches = self.caches
        return _USABLE * caches.l1, _USABLE * caches.l2, _USABLE * caches.l3

    def level_of(self, working_set: float) -> int:
        """Which cache holds so many bytes besides what passes through: 0 is L1, 3 is memory."""
        for level, size in enumerate(self.usable_bytes):
            if working_set <= size:
                return level
        return 3

    def traffic_cycles(self, l2: float = 0.0, l3: float = 0.0, memory: float = 0.0) -> float:
        """Cycles to bring so many bytes from L2, from L3 and from memory to a core."""
        core = self.core
        return l2 / core.l2_bytes + l3 / core.l3_bytes + memory / core.memory_bytes

    def stream_cycles(self, count: float, working_set: float) -> float:
        """Cycles to read ``count`` bytes once that belong to a working set of that size.

        Data of L1 cost nothing beyond their loads, which are counted with the register tile.
        """
        level = self.level_of(working_set)
        return 0.0 if level == 0 else count / self._bytes_per_cycle[level]

    def copy_cycles(
        self, elements: float, itemsize: float = 4.0, how: Copy = Copy.CONTIGUOUS
    ) -> float:
        """Cycles to copy elements within L1 or L2; more comes from ``stream_cycles``."""
        vectors = elements * itemsize / self.vector_bytes
        core = self.core
        return max(vectors / core.loads, vectors / core.stores, elements * how.value)

    def crowded(self, count: float, run: float, stride: int) -> float:
        """Bytes of L1 that ``count`` bytes need that come in runs of ``run``, ``stride`` apart.

        Lines compete for the few ways of their sets, and addresses that are 4096 bytes apart (with
        the usual 8 ways of 32 KiB) are of the same set. All strides of a tensor may be given by
        their greatest common divisor.
        """
        caches = self.caches
        period = caches.l1 // caches.l1_ways
        return count * max(1.0, math.gcd(stride, period) / max(run, _LINE))

    @staticmethod
    def overlapped(computing: float, moving: float) -> float:
        """Cycles of a loop that computes and moves data at the same time."""
        return max(computing, moving) + _EXPOSED * min(computing, moving)

    # -- sharing ---------------------------------------------------------------------------------

    def rounds(self, tasks: int) -> float:
        """How many tasks of a parallel loop the busiest core does: TVM shares them evenly."""
        return math.ceil(tasks / self.cores)

    def parallel_share(self, tasks: int) -> float:
        """The part of all work that the busiest core does: 1 / cores is best."""
        return self.rounds(tasks) / max(1, tasks)

    def seconds(self, cycles: float, regions: int = 1) -> float:
        """Seconds of a call in which the busiest core takes so many cycles.

        ``regions`` are its parallel loops, which come one after the other.
        """
        waiting = regions * _REGION_SECONDS if self.cores > 1 else 0.0
        return cycles / self.hertz + waiting + _CALL_SECONDS

    @property
    def _bytes_per_cycle(self) -> tuple[float, ...]:
        core = self.core
        return math.inf, core.l2_bytes, core.l3_bytes, core.memory_bytes


@lru_cache(maxsize=64)
def _machine(target: Target, cores: int) -> Machine:
    own = target.mcpu is None or target.mcpu == host_processor()
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
