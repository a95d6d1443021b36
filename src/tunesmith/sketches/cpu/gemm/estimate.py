"""How many seconds a product takes, by the model of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tunesmith.operators import element_bits
from tunesmith.sketches.cpu.gemm.blocking import Packing, Plan, Side
from tunesmith.sketches.cpu.gemm.operand import ALONG_DEPTH, ALONG_SIZE
from tunesmith.sketches.cpu.model.machine import Copy, Machine

# Cycles to begin and end the sums of a register tile: the first loads, the last additions.
_TILE_CYCLES = 20.0
# Cycles of an iteration of the loop over the reduction that multiply-adds do not hide.
_ROUND_CYCLES = 0.3
# Cycles an element: of a transposition in registers, and of a load and store of its own.
_TURN, _GATHER = 0.35, 2.0
_LINE, _PAGE = 64, 4096
# The part of a tile's sums that hides the latency of additions: no core starts each addition in
# the first possible cycle. Tiles of just as many sums as are in flight took a fifth longer (Zen 4).
READY_SUMS = 0.8
# The hardware prefetcher restarts where reads jump: the cost, in bytes that could be read then.
_RESTART = 3000.0
# The hardware does not prefetch across pages: how many times longer pieces of rows that are a page
# apart take.
_APART = 2.5
# The part of the shorter of computing and first touch that adds up where nothing is prefetched.
_UNASKED = 0.7


@dataclass(frozen=True)
class Traffic:
    """How an operand lies in memory."""

    along: str | None
    """The direction in which it is contiguous (see ``Operand``); None: none, elements are gathered.
    """
    itemsize: int
    stride: int
    """Bytes from one row of its matrix to the next."""
    ready: bool = False
    """Whether its panels are filled before the call."""

    @staticmethod
    def of_matrix(along: str, size: int, depth: int, dtype: str, *, ready: bool) -> Traffic:
        """That of a matrix of ``size`` rows or columns, contiguous in direction ``along``."""
        itemsize = element_bits(dtype) // 8
        return Traffic(along, itemsize, itemsize * (size if along == ALONG_SIZE else depth), ready)


def product_seconds(plan: Plan, machine: Machine, left: Traffic, right: Traffic) -> float:
    """About how long a call takes whose operands are matrices; what follows the sums is free."""
    return _Model(plan, machine, {Side.ROWS: left, Side.COLUMNS: right}).seconds()


@dataclass(frozen=True)
class _Model:
    plan: Plan
    machine: Machine
    traffic: dict[Side, Traffic]

    def seconds(self) -> float:
        machine, blocking = self.machine, self.plan.blocking
        computing = self._tiles_of_busiest() * self._tile_cycles()
        moving, first_touch = self._cache_cycles(), self._memory_cycles()
        asked = blocking.fetch_next or self.plan.batch == 1
        cycles = machine.overlapped(computing, moving)
        if asked:
            cycles = machine.overlapped(cycles, first_touch)
        else:
            cycles = max(cycles, first_touch) + _UNASKED * min(cycles, first_touch)
        cycles += sum(self._packing_cycles(side) for side in Side)
        return machine.seconds(cycles, 1 + sum(map(self._packed_apart, Side)))

    def _packing(self, side: Side) -> Packing:
        return self.plan.directions[side].packing

    def _packed_apart(self, side: Side) -> bool:
        return self._packing(side) is Packing.WHOLE and not self.traffic[side].ready

    def _width(self, side: Side) -> int:
        return self.plan.directions[side].width

    def _tiles_of_busiest(self) -> float:
        rows, columns = (self.plan.directions[side].most for side in Side)
        return self.machine.rounds(self.plan.tasks) * rows * columns

    # -- computing -------------------------------------------------------------------------------

    def _tile_cycles(self) -> float:
        """Of one register tile over the whole reduction, with its operands in L1."""
        plan, blocking = self.plan, self.plan.blocking
        sums = blocking.rows * blocking.vectors
        each = self.machine.vectors(blocking.lanes, plan.precision.total)
        step = self.machine.register_tile_cycles(
            sums * each,
            blocking.vectors * each + (blocking.prefetch > 0) * self._lines(),
            blocking.rows,
            accumulators=READY_SUMS * sums * blocking.chains,
            registers=sums * blocking.chains + blocking.vectors + 1,
            shuffles=self._conversions(),
        )
        rounds = plan.words / blocking.unroll
        saved = 2 * sums * (plan.depth_blocks - 1)
        return (
            plan.words * step
            + rounds * _ROUND_CYCLES
            + (_TILE_CYCLES + saved / 2) * plan.depth_blocks
            + sums * blocking.chains
        )

    def _lines(self) -> float:
        """Cache lines of what a step reads of the right operand's panel."""
        return math.ceil(self.plan.blocking.columns * self._word_bytes / _LINE)

    def _conversions(self) -> float:
        """Vectors to widen each step, of operands that are read where they lie."""
        blocking, precision = self.plan.blocking, self.plan.precision
        if precision.dtype == precision.word:
            return 0.0
        left = blocking.rows * (blocking.pack_left is Packing.NONE)
        return left + blocking.vectors * (blocking.pack_right is Packing.NONE)

    # -- moving data -----------------------------------------------------------------------------

    def _panel_bytes(self, side: Side) -> float:
        """What a tile reads of an operand in one k tile."""
        return self._width(side) * self.plan.blocking.depth * self._word_bytes

    @property
    def _word_bytes(self) -> float:
        return self.machine.vector_bytes / self.machine.lanes(self.plan.precision.word)

    def _cache_cycles(self) -> float:
        """Of the busiest core, to bring panels to its register tiles."""
        plan, blocking = self.plan, self.plan.blocking
        inner = blocking.inner
        outer = inner.other
        tiles = self._tiles_of_busiest() * plan.depth_blocks
        inside, outside = self._panel_bytes(inner), self._panel_bytes(outer)
        block = inside * -(-plan.directions[inner].most // blocking.blocks)
        # The outer panel stays while the inner ones pass by; those come back with the next one.
        cycles = self._stream(outer, outside * tiles, outside + inside)
        return cycles + self._stream(inner, inside * tiles, outside + block)

    def _stream(self, side: Side, count: float, working_set: float) -> float:
        """Cycles to read bytes of an operand; lines that compete for sets of L1 take more of it."""
        traffic = self.traffic[side]
        if self._packing(side) is Packing.NONE and traffic.along == ALONG_DEPTH:
            # A line of each row has to stay in L1 for its next words.
            crowded = self.machine.crowded(self._width(side) * _LINE, _LINE, traffic.stride)
            if crowded > self.machine.caches.l1:
                return count / self._word_bytes * Copy.ALIASED.value
        elif self._packing(side) is Packing.NONE:
            run = self._width(side) * traffic.itemsize
            crowded = self.machine.crowded(self._panel_bytes(side), run, traffic.stride)
            working_set = max(working_set, crowded)
        return self.machine.stream_cycles(count, working_set)

    def _memory_cycles(self) -> float:
        """Of one core's share: operands and result come from where they are before a call."""
        plan = self.plan
        sizes = {
            Side.ROWS: plan.batch * plan.rows * plan.depth,
            Side.COLUMNS: plan.batch * plan.columns * plan.depth,
        }
        read = {side: size * self.traffic[side].itemsize for side, size in sizes.items()}
        # What is written is read before.
        size = element_bits(plan.precision.total) // 8
        written = 2.0 * size * plan.batch * plan.rows * plan.columns
        count = written + sum(read.values())
        waited = written + sum(read[side] * self._scattered(side) for side in Side)
        return self.machine.stream_cycles(waited / self.machine.cores, count)

    def _scattered(self, side: Side) -> float:
        """By what factor reading an operand in pieces takes longer."""
        traffic, packing = self.traffic[side], self._packing(side)
        if packing is Packing.NONE and traffic.along == ALONG_SIZE:
            whole = traffic.stride <= self._width(side) * traffic.itemsize
            return 1.0 if whole else 1 + _APART * min(1.0, traffic.stride / _PAGE)
        if packing is Packing.WHOLE and traffic.ready and self.plan.depth_blocks > 1:
            return 1 + _RESTART / self._panel_bytes(side)
        return 1.0

    def _packing_cycles(self, side: Side) -> float:
        """Of one core, to fill panels."""
        packing, traffic, plan = self._packing(side), self.traffic[side], self.plan
        if packing is Packing.NONE or (packing is Packing.WHOLE and traffic.ready):
            return 0.0
        blocking, machine, tiles = plan.blocking, self.machine, plan.directions[side].tiles
        elements = float(tiles * self._width(side) * plan.depth)
        if packing is Packing.WHOLE:
            elements *= machine.rounds(plan.batch * tiles) / tiles
        else:
            again = plan.directions[side.other].parts
            again *= 1 if side is blocking.inner else blocking.blocks
            elements *= again * machine.rounds(plan.tasks) / (plan.tasks / plan.batch)
        packed = elements / plan.precision.group * self._word_bytes
        apart = packed if packing is Packing.WHOLE else 0.0
        return elements * self._element_cycles(side) + machine.stream_cycles(apart, 2 * apart)

    def _element_cycles(self, side: Side) -> float:
        """Of one element of a panel."""
        along, width = self.traffic[side].along, self._width(side)
        if along is None:
            return _GATHER
        if along == ALONG_DEPTH:
            # Widths that are no power of two are stored in pieces; single rows one by one.
            pieces = bin(width % self.plan.panel_lanes).count("1")
            turned = _TURN * (1 + 0.5 * max(0, pieces - 1)) / self.plan.precision.group
            return turned + _GATHER * (width % 2) / width
        lanes = self.plan.panel_lanes * self.plan.precision.group
        whole, rest = divmod(width, lanes)
        return 2.0 * (whole + bin(rest).count("1")) / width
