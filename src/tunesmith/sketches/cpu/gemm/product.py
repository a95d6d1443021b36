"""The loops of a product around its microkernel: packing, tasks, cache blocks, k tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tunesmith.sketches.cpu.gemm.blocking import Packing, Plan, Side, share
from tunesmith.sketches.cpu.gemm.microkernel import Reader, RegisterTile
from tunesmith.sketches.cpu.gemm.operand import Operand, Panel, Place
from tunesmith.sketches.cpu.gemm.precision import SHIFT_WORD
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Registers

Source = Callable[[Any], Operand]
"""The operand of a place in the batch."""

Put = Callable[[Any, Any, Any, Any, int], None]
"""``put(batch, row, column, sums, lanes)`` writes a vector of sums of one row to the result."""


@dataclass(frozen=True)
class Stream:
    """Memory of a batch of products, ``length`` elements each, one after the other."""

    flat: Any
    length: int
    written: bool = False

    @property
    def lines(self) -> int:
        """Cache lines of a product."""
        return -(-self.length // self.line)

    @property
    def line(self) -> int:
        """Elements in a cache line."""
        return emit.line_elements(str(self.flat.dtype))

    def fetch(self, batch: Any, line: Any) -> None:
        """Prefetch a line of the product at a place of the batch."""
        at = batch * self.length + line * self.line
        emit.prefetch(self.flat, [at], near=False, write=self.written)


def pack(plan: Plan, side: Side, source: Source, panels: Any) -> None:
    """Fill all panels of an operand, ``plan.panels(side)``, in a parallel loop."""
    tiles = panels.shape[1]
    with emit.parallel(plan.batch * int(tiles), f"pack_{side}") as task:
        batch, tile = emit.bind("batch", task // tiles), emit.bind("tile", task % tiles)
        place = Place(panels, [batch, tile])
        _fill(plan, side, source(batch), tile, first=0, words=plan.words, place=place)


def multiply(
    plan: Plan,
    left: Source,
    right: Source,
    put: Put,
    *,
    left_panels: Any | None = None,
    right_panels: Any | None = None,
    streams: Sequence[Stream] = (),
) -> None:
    """Emit the whole product, given the panels of an operand if they are filled already.

    ``streams`` is the memory that may be prefetched.
    """
    blocking = plan.blocking
    filled = {Side.ROWS: left_panels, Side.COLUMNS: right_panels}
    for side, source in ((Side.ROWS, left), (Side.COLUMNS, right)):
        if plan.directions[side].packing is Packing.WHOLE and filled[side] is None:
            argument = plan.panels(side)
            filled[side] = emit.buffer(argument.name, argument.shape, argument.dtype)
            pack(plan, side, source, filled[side])
    with (
        plan.precision.instructions(blocking.lanes),
        emit.parallel(plan.tasks, "task") as task,
    ):
        batch, row_part, column_part = _task_indices(plan, task)
        _Task(
            plan,
            batch,
            _Sheet(plan, Side.ROWS, left(batch), row_part, filled[Side.ROWS], batch),
            _Sheet(plan, Side.COLUMNS, right(batch), column_part, filled[Side.COLUMNS], batch),
            put,
            streams if blocking.fetch_next else (),
        ).emit()


def _task_indices(plan: Plan, task: Any) -> tuple[Any, Any, Any]:
    rows, columns = plan.blocking.row_parts, plan.blocking.column_parts
    batch, rest = emit.bind("batch", task // (rows * columns)), task % (rows * columns)
    if plan.blocking.outer is Side.ROWS:
        return batch, emit.bind("row_part", rest // columns), emit.bind("part", rest % columns)
    return batch, emit.bind("row_part", rest % rows), emit.bind("part", rest // rows)


def _fill(
    plan: Plan, side: Side, operand: Operand, tile: Any, *, first: Any, words: int, place: Place
) -> None:
    """Fill the panel of a tile: the words of a k tile, then the first values of the sums."""
    width = plan.directions[side].width
    Panel(
        plan.precision,
        operand,
        width,
        emit.bind("start", emit.tile_start(tile, width, operand.size)),
        first,
        words,
        plan.panel_lanes,
        side is Side.ROWS,
        place,
    ).fill()
    if side is Side.COLUMNS and plan.precision.compensates:
        _compensate(plan, words, place)


def _compensate(plan: Plan, words: int, place: Place) -> None:
    """Minus the shift times the sum of each column of a panel."""
    lanes, width, precision = plan.blocking.lanes, plan.blocking.columns, plan.precision
    sums = Registers("shift", 1, lanes, precision.total)
    shift = emit.constant(SHIFT_WORD, "int32", lanes)
    zero = emit.constant(0, precision.total, lanes)
    with emit.serial(plan.blocking.vectors, "vector") as vector:
        sums[0] = zero
        with emit.serial(words, "word") as word:
            column = place.load(word * width + vector * lanes, lanes)
            sums[0] = precision.multiply_add(sums[0], shift, column, lanes)
        place.store(zero - sums[0], words * width + vector * lanes, lanes)


@dataclass
class _Sheet:
    """The tiles of a task along one direction, and their panels."""

    plan: Plan
    side: Side
    operand: Operand
    part: Any
    whole: Any | None
    batch: Any

    def __post_init__(self) -> None:
        direction = self.plan.directions[self.side]
        self.width, self.packing, self.most = direction.width, direction.packing, direction.most
        self.first, self.count = share(self.part, direction.parts, direction.tiles)
        self._own: Any | None = None

    def allocate(self, panels: int) -> None:
        """Allocate memory of the task for some panels, if tasks pack them."""
        if self.packing is Packing.BLOCK:
            length = self.plan.panel_length(self.side, self.plan.blocking.depth)
            word = self.plan.precision.word
            self._own = emit.buffer(f"{self.side}_block", (panels, length), word)

    def pack(self, tile: Any, slot: Any, first: Any) -> None:
        """Fill the panel of a tile from a word on, if tasks pack it."""
        if self._own is not None:
            words, place = self.plan.blocking.depth, Place(self._own, [slot])
            _fill(self.plan, self.side, self.operand, tile, first=first, words=words, place=place)

    def start(self, tile: Any) -> Any:
        """Where a tile begins."""
        return emit.bind("start", emit.tile_start(tile, self.width, self.operand.size))

    def panel(self, tile: Any, slot: Any, first: Any) -> tuple[Place, Any] | None:
        """Where a tile's panel is, and word ``first`` in it; None without panels."""
        if self._own is not None:
            return Place(self._own, [slot]), 0
        if self.whole is not None:
            # Panels of the whole batch, or of an operand that is the same for all of it.
            shared = self.plan.batch > 1 and int(self.whole.shape[0]) == 1
            return Place(self.whole, [0 if shared else self.batch, tile]), first
        return None

    def reader(self, tile: Any, slot: Any, first: Any, start: Any) -> Reader:
        """What a register tile reads of a tile's panel, or of the operand itself."""
        lanes = self.plan.blocking.lanes if self.side is Side.COLUMNS else 1
        found = self.panel(tile, slot, first)
        if found is None:
            return self._direct_reader(first, start, lanes)
        place, word = found
        base = emit.bind("base", word * self.width)
        return Reader(
            lambda step, index: place.load(base + (step * self.width + index), lanes),
            lambda step, index: place.prefetch(base + (step * self.width + index)),
        )

    def _direct_reader(self, first: Any, start: Any, lanes: int) -> Reader:
        operand, widened = self.operand, self.plan.precision.widened

        def word(step: Any, place: int) -> Any:
            if lanes == 1 or operand.run is None:
                return widened(operand.element(first + step, start + place))
            return widened(operand.run(first + step, start + place, lanes), lanes)

        return Reader(word)


@dataclass
class _Task:
    """A task's part of the result: a rectangle of register tiles."""

    plan: Plan
    batch: Any
    rows: _Sheet
    columns: _Sheet
    put: Put
    streams: Sequence[Stream]

    def emit(self) -> None:
        plan, blocking = self.plan, self.plan.blocking
        sheets = (self.rows, self.columns)
        inner, outer = sheets if blocking.inner is Side.ROWS else sheets[::-1]
        inner.allocate(-(-inner.most // blocking.blocks))
        outer.allocate(1)
        sums = self._allocate_sums()
        with emit.serial(plan.depth_blocks, "depth_block") as depth_block:
            first_word = emit.bind("first_word", depth_block * blocking.depth)
            with emit.serial(blocking.blocks, "block") as block:
                first, count = share(block, blocking.blocks, inner.count)
                if inner.packing is Packing.BLOCK:
                    with emit.serial(count, "slot") as slot:
                        inner.pack(inner.first + first + slot, slot, first_word)
                with emit.serial(outer.count, "outer") as step:
                    outer.pack(outer.first + step, 0, first_word)
                    with emit.serial(count, "inner") as slot:
                        places = {inner.side: (first + slot, slot), outer.side: (step, 0)}
                        self._tile(places, depth_block, first_word, sums)

    def _allocate_sums(self) -> Any | None:
        blocking = self.plan.blocking
        if self.plan.depth_blocks == 1:
            return None
        size = self.rows.most * self.columns.most * blocking.rows * blocking.columns
        return emit.buffer("partial", (size,), self.plan.precision.total)

    def _sums_base(self, places: dict[Side, tuple[Any, Any]]) -> Any:
        """Where a tile's sums are between two k tiles: in the order in which tiles follow."""
        inner, blocking = self.plan.blocking.inner, self.plan.blocking
        most = self.plan.directions[inner].most
        number = places[inner.other][0] * most + places[inner][0]
        return emit.bind("sums_base", number * (blocking.rows * blocking.columns))

    def _tile(
        self,
        places: dict[Side, tuple[Any, Any]],
        depth_block: Any,
        first_word: Any,
        sums: Any | None,
    ) -> None:
        """One register tile over one k tile; ``places`` are its number in the task and its slot."""
        blocking, precision = self.plan.blocking, self.plan.precision
        tile = RegisterTile(blocking, precision)
        readers, starts, tiles = {}, {}, {}
        for sheet in (self.rows, self.columns):
            number, slot = places[sheet.side]
            at = tiles[sheet.side] = emit.bind("tile", sheet.first + number)
            starts[sheet.side] = sheet.start(at)
            readers[sheet.side] = sheet.reader(at, slot, first_word, starts[sheet.side])
        tile.start(self._beginning(places[Side.COLUMNS], first_word))
        base: Any = 0
        if sums is not None:
            base = self._sums_base(places)
            tile.prefetch(sums, base)
        across = self.plan.directions[Side.COLUMNS].tiles
        overall = tiles[Side.ROWS] * across + tiles[Side.COLUMNS]
        beside = partial(self._fetch, overall) if self.streams else None
        tile.accumulate(readers[Side.ROWS], readers[Side.COLUMNS], blocking.depth, beside)
        tile.fold()
        if sums is None:
            self._write(tile, starts)
            return
        with emit.when(depth_block > 0):
            tile.resume(sums, base)
        last = self.plan.depth_blocks - 1
        with emit.when(depth_block < last):
            tile.save(sums, base)
        with emit.when(depth_block == last):
            self._write(tile, starts)

    def _fetch(self, number: Any, step: Any) -> None:
        """Prefetch this tile's share of the memory of the next product of the batch."""
        blocking, directions = self.plan.blocking, self.plan.directions
        rounds = blocking.depth // min(blocking.unroll, blocking.depth)
        tiles = directions[Side.ROWS].tiles * directions[Side.COLUMNS].tiles
        for stream in self.streams:
            share = emit.tile_count(stream.lines, tiles)
            # There are more iterations than lines as a rule: some prefetch the same line again.
            first = number * share + step * share // rounds
            for line in range(emit.tile_count(share, rounds)):
                stream.fetch(self.batch + 1, first + line)

    def _beginning(self, place: tuple[Any, Any], first_word: Any) -> Callable[[int], Any] | None:
        """The first values of sums, if not 0: they follow the words of the right panel."""
        if not self.plan.precision.compensates:
            return None
        number, slot = place
        found = self.columns.panel(self.columns.first + number, slot, first_word)
        assert found is not None, "words of several elements are read from panels"
        panel, lanes = found[0], self.plan.blocking.lanes
        base = self.plan.blocking.depth * self.plan.blocking.columns
        return lambda vector: panel.load(base + vector * lanes, lanes)

    def _write(self, tile: RegisterTile, starts: dict[Side, Any]) -> None:
        lanes = self.plan.blocking.lanes
        tile.write(
            lambda row, column, value: self.put(
                self.batch, starts[Side.ROWS] + row, starts[Side.COLUMNS] + column, value, lanes
            )
        )
