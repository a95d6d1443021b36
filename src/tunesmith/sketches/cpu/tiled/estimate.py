"""How many seconds a config of the generic CPU sketch takes, by the model of the machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tunesmith.operators import Operator
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.model.reuse import movement_cycles
from tunesmith.sketches.cpu.tiled.packing import Packing, packing_of
from tunesmith.sketches.tir.loop_nest import Access, LoopNest, known_loop_nest
from tunesmith.sketches.tir.weights import WEIGHT, has_constant_weights
from tunesmith.space import Config

_LINE = 64
# Cycles an element of a vector that is gathered from scalars.
_GATHER = 1.0
# Inserts a scalar of a vector that is gathered: seven of eight.
_INSERTS = 7 / 8
# The out-of-order window in instructions: a short sum overlaps with the next ones.
_WINDOW = 256
# LLVM spills sums in vectors that are wider than a register and no power of two.
_UNEVEN = 8.0
# Cycles of a branch around a load, where padding is inlined.
_BRANCH = 0.7
# Cycles to begin and end the sums of a register tile: the last additions, the first loads.
_TILE_CYCLES = 20.0


# Block, number of blocks, bytes from one to the next, and the steps of each axis in its index.
_Dimension = tuple[int, int, int, list[tuple[str, int]]]

# For each tensor the bytes of all lines that a box of steps touches, and what they need of L1.
_Footprints = Sequence[tuple[float, float]]


class TiledEstimate:
    """The model of an operator on a machine: what does not depend on the config."""

    def __init__(self, operator: Operator, sketch: str, machine: Machine) -> None:
        nest = known_loop_nest(operator, sketch)
        self.machine = machine
        self.nest = nest
        self.itemsize = machine.vector_bytes // machine.lanes(operator.arguments[0].dtype)
        self.sum_dtype = operator.accumulate_dtype
        self.sum_size = machine.vector_bytes // machine.lanes(operator.accumulate_dtype)
        self.result = operator.result
        self.spatial = [axis.name for axis in nest.tiled_spatial]
        self.reduction = [axis.name for axis in nest.tiled_reduction]
        self.inputs = [_Input(nest, access, self.itemsize, machine) for access in nest.inputs]
        laid_out_before = has_constant_weights(operator)
        self.prepared = {operator.arguments[WEIGHT].name} if laid_out_before else set()
        self.innermost = nest.spatial[-1].name

    def seconds(self, config: Config) -> float:
        """About how long a call takes."""
        chosen = _Chosen(self, config)
        computing = chosen.steps * chosen.step_cycles()
        moving = chosen.movement_cycles()
        cycles = self.machine.overlapped(computing, moving)
        cycles += chosen.write_cycles() + chosen.preparation_cycles()
        return self.machine.seconds(cycles, chosen.regions)


@lru_cache(maxsize=64)
def estimate_of(operator: Operator, sketch: str, machine: Machine) -> TiledEstimate:
    """The model of an operator, made once. Raises ``UsageError`` as ``known_loop_nest`` does."""
    return TiledEstimate(operator, sketch, machine)


class _Input:
    """An input of the main reduction: its layouts and how its indices move."""

    def __init__(self, nest: LoopNest, access: Access, itemsize: int, machine: Machine) -> None:
        self.access = access
        self.machine = machine
        self.itemsize = itemsize
        self.name = access.buffer
        self.packing: Packing | None = packing_of(nest, access)
        self.axes = access.all_axes
        self.elements = math.prod(access.shape)
        tiled = {axis.name for axis in (*nest.tiled_spatial, *nest.tiled_reduction)}
        # Transposed convolutions walk backwards, too.
        steps = [[(axis, abs(by)) for axis, by in pairs if axis in tiled] for pairs in access.steps]
        inwards = range(len(access.shape) - 1, -1, -1)
        leading = self.packing.leading if self.packing else ()
        # Dimensions from the innermost one outwards: number, size, and the steps in its index.
        self.plain = [(d, access.shape[d], steps[d]) for d in inwards]
        self.rearranged = sorted(self.plain, key=lambda dimension: dimension[0] in leading)
        self.strides = {
            axis: sum(
                dict(steps[d]).get(axis, 0) * math.prod(access.shape[d + 1 :]) for d in inwards
            )
            for axis in tiled
        }

    def layout(self, blocks: Mapping[int, int]) -> list[_Dimension]:
        """The dimensions of the plain layout, or of the one packed in these blocks."""
        distance = math.prod(blocks.values()) * self.itemsize
        found = []
        for number, size, steps in self.rearranged if blocks else self.plain:
            block = blocks.get(number, 1)
            found.append((block, size // block, distance, steps))
            distance *= size // block
        return found

    def footprint(
        self, layout: list[_Dimension], extents: Mapping[str, int]
    ) -> tuple[float, float]:
        """Bytes of all lines that a box of steps touches, and what they need of L1."""
        run, whole, elements, stride = 1, True, 1, 0
        for block, size, distance, steps in layout:
            span = places = 1
            for axis, by in steps:
                span += by * (extents[axis] - 1)
                places *= extents[axis]
            inside = min(span, block)
            elements *= inside
            run *= inside
            outside = min(-(-span // block), size)
            if whole:
                run *= outside
                elements *= outside
                whole = outside == size
            elif outside > 1:
                elements *= min(outside, places)  # a stride leaves rows out
                stride = math.gcd(stride, distance)
        length = run * self.itemsize
        if length % _LINE:
            length += _LINE - self.itemsize
        touched = elements / run * length
        return touched, self.machine.crowded(touched, length, stride) if stride else touched


class _Chosen:
    """A config in numbers."""

    def __init__(self, model: TiledEstimate, config: Config) -> None:
        self.model = model
        self.machine = model.machine
        self.config = config
        self.tiles: dict[str, Any] = {
            name: config[f"tile_{name}"] for name in (*model.spatial, *model.reduction)
        }
        self.inner = {name: int(tile[-1]) for name, tile in self.tiles.items()}
        self.vector: Any = config.get("vectorize")
        self.in_registers = config.get("accumulate", "registers") == "registers"
        self.pad = config.get("pad", "root") if model.nest.producers else None
        self.packed = {
            one.name: one.packing is not None and bool(config.get(f"pack_{one.name}", False))
            for one in model.inputs
        }
        self.layouts = [one.layout(self._blocks(one)) for one in model.inputs]
        self._share_work()

    def _blocks(self, one: _Input) -> Mapping[int, int]:
        if not self.packed[one.name]:
            return {}
        assert one.packing is not None
        return one.packing.factors(self.inner)

    def _order(self, name: str, axes: list[str]) -> Any:
        return self.config.get(name, axes)

    def _share_work(self) -> None:
        """The loops that one core runs, outermost first, as (axis, trips)."""
        model, tiles = self.model, self.tiles
        order = list(self._order("order_outer", model.spatial))
        count = int(str(self.config.get("parallel", 1)))
        outer = [[name, int(tiles[name][0])] for name in order]
        self.tasks = math.prod(trips for _, trips in outer[:count])
        left = self.machine.rounds(self.tasks)
        for loop in reversed(outer[:count]):
            trips = min(loop[1], left)
            left = math.ceil(left / trips)
            loop[1] = int(trips)
        middle = [
            [name, int(tiles[name][1])] for name in self._order("order_middle", model.spatial)
        ]
        sums = self._order("order_reduction", model.reduction)
        outer_sums = [[name, int(tiles[name][0])] for name in sums]
        inner_sums = [[name, int(tiles[name][1])] for name in sums]
        between = [*middle, *outer_sums] if self.in_registers else [*outer_sums, *middle]
        self.sum_length = math.prod(trips for _, trips in inner_sums)
        if self.in_registers or all(trips == 1 for _, trips in middle):
            self.sum_length *= math.prod(trips for _, trips in outer_sums)
        self.outer = outer
        self.loops = [loop for loop in (*outer, *between, *inner_sums) if loop[1] > 1]
        self.tile_count: int = math.prod(trips for _, trips in (*outer, *middle))
        self.steps = math.prod(trips for _, trips in self.loops)
        self.outer_sums = math.prod(trips for _, trips in outer_sums)

    # -- the register tile -----------------------------------------------------------------------

    def step_cycles(self) -> float:
        """Cycles of one step of the reduction for a register tile."""
        machine, model = self.machine, self.model
        lanes = machine.vector_bytes // model.sum_size
        width = self.inner[self.vector] if self.vector else 1
        vectors = -(-width // lanes)
        whole = machine.vectors(width, model.sum_dtype)
        rows = math.prod(self.inner[name] for name in model.spatial if name != self.vector)
        sums = rows * vectors
        loads = broadcasts = slow = gathered = 0.0
        for one in model.inputs:
            count = math.prod(
                self.inner[name]
                for name in model.spatial
                if name in one.axes and name != self.vector
            )
            if self.pad == "inline" and one.access.produced:
                slow += _BRANCH * count
            if self.sum_length == 1 and self.loops and self.loops[-1][0] not in one.axes:
                count /= self.loops[-1][1]  # the innermost loop reads the same again
            if self.vector not in one.axes:
                broadcasts += count
            elif self._consecutive(one):
                loads += count * whole
            else:
                gathered += count * width
        stores, length = 0.0, self.sum_length
        if not self.in_registers:
            stores = sums / length
        busy = machine.register_tile_cycles(
            rows * whole,
            loads + stores + gathered,
            broadcasts,
            stores,
            shuffles=gathered * _INSERTS,
            accumulators=sums * (1 + _WINDOW / (length * (sums + loads + broadcasts + gathered))),
            registers=sums + min(loads, broadcasts or loads) + 1,
        )
        if vectors > 1 and width & (width - 1):
            busy *= _UNEVEN
        return busy + slow

    def _consecutive(self, one: _Input) -> bool:
        if self.packed[one.name]:
            assert one.packing is not None
            return bool(one.packing.innermost_axis == self.vector)
        return bool(one.strides[self.vector] == 1)

    # -- the caches ------------------------------------------------------------------------------

    def movement_cycles(self) -> float:
        """Cycles in which the caches bring the inputs, and the sums where they are in memory."""
        extents = {**self.inner, **dict.fromkeys(self.model.reduction, 1)}
        rows = [self._footprints(extents)]
        for name, trips in reversed(self.loops):
            extents[name] *= trips
            rows.append(self._footprints(extents, name, rows[-1]))
        columns = list(zip(*reversed(rows), strict=True))
        touched = [[both[0] for both in column] for column in columns]
        crowded = [[both[1] for both in column] for column in columns]
        return movement_cycles(self.machine, [trips for _, trips in self.loops], touched, crowded)

    def _footprints(
        self, extents: Mapping[str, int], moved: str = "", inside: _Footprints = ()
    ) -> _Footprints:
        """Of the inputs, then of the sums where they are in memory. ``inside`` are those before the
        extent of the axis ``moved`` changed, which does not matter to the others."""
        found = [
            one.footprint(layout, extents) if not inside or moved in one.axes else inside[place]
            for place, (one, layout) in enumerate(zip(self.model.inputs, self.layouts, strict=True))
        ]
        if not self.in_registers:
            tile = math.prod(extents[name] for name in self.model.spatial)
            found.append((tile * self.model.sum_size,) * 2)
        return found

    # -- around the sums -------------------------------------------------------------------------

    def write_cycles(self) -> float:
        """Cycles to set sums to zero and write them out."""
        model, machine = self.model, self.machine
        share = machine.parallel_share(self.tasks)
        elements = model.result.elements * share
        contiguous = self.vector in (None, model.innermost)
        each = 0.2 if contiguous else _GATHER
        bytes_ = elements * model.sum_size
        return (
            self.tile_count * _TILE_CYCLES
            + elements * each
            + machine.stream_cycles(bytes_, model.result.elements * model.sum_size)
        )

    def preparation_cycles(self) -> float:
        """Cycles to pack inputs and compute padding, on one core."""
        cycles = 0.0
        self.regions = 1
        for one in self.model.inputs:
            if one.access.produced and self.pad is not None:
                cycles += self._padding_cycles(one)
            elif self.packed[one.name] and one.name not in self.model.prepared:
                self.regions += 1
                cycles += self._copy_cycles(one, one.elements / self.machine.cores)
        return cycles

    def _padding_cycles(self, one: _Input) -> float:
        if self.pad == "inline":
            return 0.0
        if self.pad == "root":
            self.regions += 1
            return 1.5 * self._copy_cycles(one, one.elements / self.machine.cores)
        extents = {name: math.prod(int(part) for part in tile) for name, tile in self.tiles.items()}
        for name in self.model.spatial:
            extents[name] = int(self.tiles[name][1]) * self.inner[name]
        tiles = math.prod(int(trips) for _, trips in self.outer)
        elements = one.footprint(one.layout({}), extents)[0] / one.itemsize
        return 1.5 * self._copy_cycles(one, elements * tiles)

    def _copy_cycles(self, one: _Input, elements: float) -> float:
        size = one.elements * one.itemsize
        each = 0.5
        if self.packed[one.name]:
            assert one.packing is not None
            each = 0.5 if one.strides[one.packing.innermost_axis] == 1 else 2.0
        return elements * each + self.machine.stream_cycles(2 * elements * one.itemsize, size)
