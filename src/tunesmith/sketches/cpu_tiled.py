"""The generic CPU sketch: multi-level tiling of an operator with one reduction."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Operator
from tunesmith.sketches.cpu_tiled_schedule import TiledSchedule
from tunesmith.sketches.loop_nest import Axis, LoopNest, main_loop_nest
from tunesmith.sketches.packing import packing_of
from tunesmith.sketches.sketch import Sketch
from tunesmith.space import (
    Categorical,
    Config,
    Constraint,
    Factorization,
    Ordinal,
    Parameter,
    Permutation,
    Space,
)
from tunesmith.target import Target

# A register tile larger than this (elements) cannot stay in any machine's registers: it only makes
# the build slow.
MAX_REGISTER_TILE = 512
# The widest innermost tile of the vectorised axis: four vectors of sixteen floats.
MAX_VECTOR_TILE = 64
# Narrower ones waste the vector unit; asked for where the extent allows it.
MIN_VECTOR_TILE = 8


class CpuTiled(Sketch):
    """Tiles every loop, orders the loops, vectorises, unrolls and parallelises.

    A spatial axis is split in three: an outer loop that is shared among the cores, a middle loop,
    and a register tile. A reduction axis is split in two, the inner part next to the register tile.
    Sums are accumulated in a tile whose vectorised axis is contiguous and written out, through the
    epilogue where there is one, when they are complete. Inputs may be packed into blocked layouts
    that fit the register tile; padding is computed once, per tile, or in place.
    """

    name: ClassVar[str] = "cpu_tiled"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and main_loop_nest(operator) is not None

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(_nest(operator))

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(_nest(operator))

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        return TiledSchedule(operator, _nest(operator), config).apply()


def _nest(operator: Operator) -> LoopNest:
    nest = main_loop_nest(operator)
    assert nest is not None, f"{operator.name} has no main reduction; ask supports() first"
    return nest


def vector_tiles(extent: int) -> list[int]:
    """The innermost tiles that a vectorised axis of this extent may have."""
    tiles = [d for d in range(2, min(extent, MAX_VECTOR_TILE) + 1) if extent % d == 0]
    return [d for d in tiles if d >= MIN_VECTOR_TILE] or tiles[-1:]


def _vectorizable(nest: LoopNest) -> list[Axis]:
    return [axis for axis in nest.tiled_spatial if vector_tiles(axis.extent)]


@lru_cache(maxsize=64)
def _space(nest: LoopNest) -> Space:
    spatial, reduction = nest.tiled_spatial, nest.tiled_reduction
    parameters: list[Parameter] = []
    constraints: list[Constraint] = []
    parameters += [Factorization(f"tile_{axis.name}", axis.extent, 3) for axis in spatial]
    parameters += [Factorization(f"tile_{axis.name}", axis.extent, 2) for axis in reduction]
    if len(spatial) > 1:
        names = tuple(axis.name for axis in spatial)
        parameters += [Permutation("order_outer", names), Permutation("order_middle", names)]
        parameters.append(Ordinal("parallel", tuple(range(1, len(spatial) + 1))))
    if len(reduction) > 1:
        parameters.append(Permutation("order_reduction", tuple(a.name for a in reduction)))
    if spatial:
        parameters.append(Categorical("accumulate", ("registers", "tile")))
        tile = " * ".join(f"tile_{axis.name}[2]" for axis in spatial)
        constraints.append(Constraint(f"{tile} <= {MAX_REGISTER_TILE}"))
    candidates = _vectorizable(nest)
    if candidates:
        parameters.append(Categorical("vectorize", tuple(axis.name for axis in candidates)))
    for axis in candidates:
        tiles = ", ".join(map(str, vector_tiles(axis.extent)))
        constraints.append(
            Constraint(f"vectorize != '{axis.name}' or tile_{axis.name}[2] in [{tiles}]")
        )
    parameters.append(Ordinal("unroll", (1, 16, 64, 256)))
    if nest.producers:
        parameters.append(Categorical("pad", ("root", "tile", "inline")))
    for access in nest.inputs:
        if packing_of(nest, access) is None:
            continue
        name = f"pack_{access.buffer}"
        parameters.append(Categorical(name, (False, True)))
        if access.produced:
            constraints.append(Constraint(f"pad != 'inline' or not {name}"))
    return Space(parameters, constraints)


def _default(nest: LoopNest) -> Config:
    """Rows shared among the cores, the output's innermost axis vectorised, nothing else."""
    candidates = _vectorizable(nest)
    vector = candidates[-1].name if candidates else None
    values: dict[str, Any] = {}
    for axis in nest.tiled_spatial:
        inner = 1
        if axis.name == vector:
            inner = min(vector_tiles(axis.extent), key=lambda tile: abs(math.log2(tile / 16)))
        values[f"tile_{axis.name}"] = (axis.extent // inner, 1, inner)
    for axis in nest.tiled_reduction:
        values[f"tile_{axis.name}"] = (axis.extent, 1)
    names = tuple(axis.name for axis in nest.tiled_spatial)
    fixed: dict[str, Any] = {
        "order_outer": names,
        "order_middle": names,
        "order_reduction": tuple(axis.name for axis in nest.tiled_reduction),
        "parallel": max(1, len(names) - 1),
        "accumulate": "registers",
        "vectorize": vector,
        "unroll": 1,
        "pad": "root",
    }
    fixed |= {f"pack_{access.buffer}": False for access in nest.inputs}
    known = _space(nest).names
    return Config({**values, **{name: fixed[name] for name in fixed if name in known}})
