"""The choices of a product's loops: what the sketches of matrix products have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import ProductOperator, RecurrentOperator
from tunesmith.sketches.cpu.gemm.blocking import Blocking, Packing, Plan, Side
from tunesmith.sketches.cpu.gemm.precision import Precision
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.tir import emit
from tunesmith.space import Categorical, Config, Ordinal, Parameter
from tunesmith.target import Target

MOST_VECTORS = 8
"""Vectors of a register tile, side by side."""

_UNROLL = (1, 2, 4, 8)
# A shorter k tile costs more in storing sums than it saves in the caches.
_SHORTEST_DEPTH = 64


@dataclass(frozen=True)
class LoopChoices:
    """The values that a sketch offers for the loops of its products.

    ``parts`` are numbers of tasks along an axis, and so are the multiples ``per_core`` of the
    number of cores. ``largest_body`` bounds the vectors of sums times the unrolling: larger loop
    bodies take long to compile and are no faster.
    """

    rows: Sequence[int]
    chains: Sequence[int]
    prefetch: Sequence[int]
    parts: Sequence[int]
    per_core: Sequence[int]
    blocks: Sequence[int]
    largest_body: int

    def parameters(
        self,
        size: tuple[int, int],
        lanes: Sequence[int],
        depths: Sequence[int],
        target: Target,
    ) -> list[Parameter]:
        """The parameters of a product of at most ``size`` rows and columns."""
        rows, columns = size
        most = min(Machine.of(target).vector_registers - 2, rows)
        sides = tuple(map(str, Side))
        return [
            Ordinal("rows", [count for count in self.rows if count <= most]),
            Ordinal("vectors", range(1, min(MOST_VECTORS, columns // lanes[0]) + 1)),
            Ordinal("lanes", lanes),
            Ordinal("depth", depths),
            Ordinal("chains", self.chains),
            Ordinal("unroll", _UNROLL),
            Ordinal("prefetch", self.prefetch),
            Ordinal("row_parts", self.parts_of(rows, target)),
            Ordinal("column_parts", self.parts_of(columns, target)),
            Categorical("outer", sides),
            Categorical("inner", sides),
            Ordinal("blocks", self.blocks),
        ]

    def parts_of(self, extent: int, target: Target) -> tuple[int, ...]:
        """Into how many tasks an axis may be cut."""
        parts = {*self.parts, *(target.core_count * factor for factor in self.per_core)}
        return tuple(sorted(part for part in parts if part <= extent))

    def register_conditions(self, target: Target) -> list[str]:
        """Sums and vectors fit the registers, and the unrolled body is short."""
        return [
            f"rows * vectors * chains + vectors + 1 <= {Machine.of(target).vector_registers}",
            f"rows * vectors * unroll <= {self.largest_body}",
            "chains <= unroll",
        ]

    def default_parts(
        self, batch: int, size: tuple[int, int], tile: tuple[int, int], target: Target
    ) -> dict[str, int]:
        """A task for each core along the longer axis, unless the batch has enough."""
        names = ("row_parts", "column_parts")
        parts = dict.fromkeys(names, 1)
        if batch < target.core_count:
            tiles = dict(zip(names, map(emit.tile_count, size, tile), strict=True))
            longer = max(tiles, key=lambda name: tiles[name])
            shares = self.parts_of(tiles[longer], target)
            parts[longer] = max(share for share in shares if share <= target.core_count)
        return parts


def tile_conditions(rows: int, columns: int) -> list[str]:
    """A tile is no wider than the result; each task has a tile, and each block of a task."""
    return [
        f"vectors * lanes <= {columns}",
        f"(row_parts - 1) * rows < {rows}",
        f"(column_parts - 1) * vectors * lanes < {columns}",
        f"inner == 'columns' or (row_parts * blocks - 1) * rows < {rows}",
        f"inner == 'rows' or (column_parts * blocks - 1) * vectors * lanes < {columns}",
    ]


def widest_lanes(
    operator: ProductOperator | RecurrentOperator, columns: int, target: Target
) -> int:
    """The lanes of the longest vector of sums that ``columns`` columns fill."""
    lanes = target.lanes(operator.accumulate_dtype)
    while lanes > columns:
        lanes //= 2
    return lanes


def depths_of(precision: Precision, depth: int, multiple: int = 1) -> tuple[int, ...]:
    """The lengths of a k tile in words: the whole reduction, and its longer divisors.

    Shorter ones are multiples of ``multiple``. Where the last word is not full, or where sums do
    not begin at 0, the reduction is one k tile.
    """
    words = precision.words(depth)
    if depth % precision.group or precision.compensates:
        return (words,)
    shorter = range(_SHORTEST_DEPTH, words // 2 + 1)
    return (*(d for d in shorter if words % d == 0 and d % multiple == 0), words)


def default_depth(depths: Sequence[int], most: int) -> int:
    """The longest k tile that is not above a limit, or the whole reduction."""
    return max([depth for depth in depths if depth <= most], default=depths[-1])


def packings(*, readable: bool, constant: bool = False) -> tuple[str, ...]:
    """Where an operand may be packed.

    Only a ``readable`` one can be read in place. A ``constant`` one is packed before the call, or
    not at all.
    """
    block = [] if constant else [Packing.BLOCK]
    return tuple(map(str, [Packing.NONE] * readable + [Packing.WHOLE, *block]))


def plan_of(
    operator: ProductOperator | RecurrentOperator,
    target: Target,
    config: Config,
    size: tuple[int, int, int],
    packing: tuple[str, str],
) -> Plan:
    """The plan of a config.

    ``size`` is the batch and its rows and columns, ``packing`` are the names of the parameters
    that say where the left and the right operand are packed.
    """
    numbers: dict[str, Any] = {n: value for n, value in config.items() if isinstance(value, int)}
    precision = Precision.for_operator(operator, target, numbers["lanes"])
    pack_left, pack_right = (Packing(str(config[name])) for name in packing)
    return Plan(
        *size,
        operator.reduction_length,
        precision,
        target.lanes(precision.word),
        Blocking(
            **numbers,
            outer=Side(str(config["outer"])),
            inner=Side(str(config["inner"])),
            pack_left=pack_left,
            pack_right=pack_right,
        ),
    )
