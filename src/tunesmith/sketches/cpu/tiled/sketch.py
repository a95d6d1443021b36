"""The generic CPU sketch: multi-level tiling of an operator with one reduction."""

# ruff: noqa: ARG002 - the same configs make sense on every CPU, whatever the target

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Operator
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.tiled.estimate import estimate_of
from tunesmith.sketches.cpu.tiled.packing import packing_of
from tunesmith.sketches.cpu.tiled.schedule import TiledSchedule
from tunesmith.sketches.cpu.tiled.stages import LANES
from tunesmith.sketches.sketch import ScheduleSketch, instantiating
from tunesmith.sketches.tir.hoisting import hoisted
from tunesmith.sketches.tir.loop_nest import (
    Access,
    LoopNest,
    known_loop_nest,
    lower,
    main_loop_nest,
)
from tunesmith.sketches.tir.weights import has_constant_weights
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

# Sums that do not fit the registers of any machine (32 of 16 floats) are in memory at every step:
# such tiles are slow to run, and slow to build, since all their steps are unrolled.
MAX_REGISTER_TILE = 32 * LANES
# The widest innermost tile of the vectorised axis: four vectors of sixteen floats.
MAX_VECTOR_TILE = 4 * LANES
# Narrower ones waste the vector unit: the least width where the extent allows it.
MIN_VECTOR_TILE = 8


class CpuTiled(ScheduleSketch):
    """Tiles every loop, orders the loops, vectorises, unrolls and parallelises.

    A spatial axis is split in three: an outer loop that is shared among the cores, a middle loop,
    and a register tile. A reduction axis is split in two, the inner part next to the register tile.
    Sums are accumulated in a tile whose vectorised axis is contiguous and written out, through the
    epilogue where there is one, when they are complete. Inputs may be packed into blocked layouts
    that fit the register tile, constant weights once and for all; padding is computed once, per
    tile, or in place.

    Axes of one step are not tiled and have no parameters.
    """

    name: ClassVar[str] = "cpu_tiled"
    version: ClassVar[int] = 2

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and main_loop_nest(operator) is not None

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(known_loop_nest(operator, self.name))

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(known_loop_nest(operator, self.name))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return estimate_of(operator, self.name, Machine.of(target)).seconds(config)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        module = self.schedule(operator, target, config, lower(operator)).mod
        return hoisted(module) if has_constant_weights(operator) else module

    def schedule(self, operator: Operator, target: Target, config: Config, definition: Any) -> Any:
        nest = known_loop_nest(operator, self.name)
        with instantiating(_space(nest), config):
            return TiledSchedule(definition, operator, nest, config).apply()


# -- what may be vectorised -----------------------------------------------------------------------


def vector_tiles(extent: int) -> list[int]:
    """The innermost tiles that a vectorised axis of this extent may have.

    Above one vector they are whole vectors: of others LLVM splits the rest into scalars, which took
    7 to 10 times as long.
    """
    divisors = [d for d in range(2, min(extent, MAX_VECTOR_TILE) + 1) if extent % d == 0]
    tiles = [d for d in divisors if d <= LANES or d % LANES == 0]
    return [d for d in tiles if d >= MIN_VECTOR_TILE] or tiles[-1:]


def vector_axes(nest: LoopNest) -> tuple[str, ...]:
    """The axes that may be vectorised: those along which some tensor is consecutive in memory.

    The tensor may be an input that is packed. Vectors along any other axis are gathered element by
    element, which is slow to run and to build; they are allowed only where no axis is both
    consecutive and long enough.
    """
    tiles = {axis.name: vector_tiles(axis.extent) for axis in nest.tiled_spatial}
    consecutive = {axis.name for axis in nest.tiled_spatial[-1:]}
    for access in nest.inputs:
        consecutive |= access.consecutive_axes
        packing = packing_of(nest, access)
        if packing is not None:
            consecutive.add(packing.innermost_axis)
    wide = {name for name in consecutive if max(tiles.get(name, ()), default=0) >= MIN_VECTOR_TILE}
    return tuple(name for name in tiles if tiles[name] and (name in wide or not wide))


def _scattered_by_packing(nest: LoopNest, access: Access) -> frozenset[str]:
    """The axes along which an input is no longer consecutive once it is packed."""
    packing = packing_of(nest, access)
    return frozenset() if packing is None else access.all_axes - {packing.innermost_axis}


# -- the space ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _space(nest: LoopNest) -> Space:
    parameters = _loop_parameters(nest)
    constraints = _vector_constraints(nest)
    vectors = vector_axes(nest)
    parameters.append(Ordinal("unroll", (1, 16, 64, 256)))
    padded = [access for access in nest.inputs if access.produced]
    if nest.producers:
        parameters.append(Categorical("pad", ("root", "tile", "inline")))
        # Padding in place is a branch for every element of a vector along the padded axes.
        branching = frozenset[str]().union(*(access.computed_axes for access in padded))
        constraints += _never_along(branching, vectors, "pad != 'inline'")
    for access in nest.inputs:
        if packing_of(nest, access) is None:
            continue
        name = f"pack_{access.buffer}"
        parameters.append(Categorical(name, (False, True)))
        constraints += _never_along(_scattered_by_packing(nest, access), vectors, f"not {name}")
        if access.produced:
            constraints.append(Constraint(f"pad != 'inline' or not {name}"))
    return Space(parameters, constraints)


def _loop_parameters(nest: LoopNest) -> list[Parameter]:
    """How loops are split, ordered and shared among the cores, and which one is vectorised."""
    spatial, reduction = nest.tiled_spatial, nest.tiled_reduction
    parameters: list[Parameter] = []
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
    vectors = vector_axes(nest)
    if vectors:
        parameters.append(Categorical("vectorize", vectors))
    return parameters


def _vector_constraints(nest: LoopNest) -> list[Constraint]:
    """Whole vectors, and a register tile that fits the registers.

    A vector takes a whole register however few elements it has.
    """
    vectors = vector_axes(nest)
    constraints = []
    for axis in nest.tiled_spatial:
        if axis.name in vectors:
            tiles = ", ".join(map(str, vector_tiles(axis.extent)))
            others = [f"tile_{a.name}[2]" for a in nest.tiled_spatial if a != axis]
            registers = " * ".join([f"max(tile_{axis.name}[2], {LANES})", *others])
            fits = f"tile_{axis.name}[2] in [{tiles}] and {registers} <= {MAX_REGISTER_TILE}"
            constraints.append(Constraint(f"vectorize != '{axis.name}' or ({fits})"))
    if nest.tiled_spatial and not vectors:
        tile = " * ".join(f"tile_{axis.name}[2]" for axis in nest.tiled_spatial)
        constraints.append(Constraint(f"{tile} <= {MAX_REGISTER_TILE}"))
    return constraints


def _never_along(
    axes: frozenset[str], vectors: tuple[str, ...], otherwise: str
) -> list[Constraint]:
    """``otherwise`` must hold where one of ``axes`` is vectorised."""
    named = ", ".join(f"'{name}'" for name in vectors if name in axes)
    return [Constraint(f"vectorize not in [{named}] or {otherwise}")] if named else []


# -- the default ----------------------------------------------------------------------------------


def _default(nest: LoopNest) -> Config:
    """Rows shared among the cores, the output's innermost axis vectorised, nothing else."""
    vectors = vector_axes(nest)
    vector = vectors[-1] if vectors else None
    values: dict[str, Any] = {}
    for axis in nest.tiled_spatial:
        inner = 1
        if axis.name == vector:
            inner = min(vector_tiles(axis.extent), key=lambda tile: abs(math.log2(tile / LANES)))
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
