"""The loop nest of an operator's main reduction, and its accesses, for sketches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.operators import Operator
from tunesmith.sketches.tir.schedules import schedule_of


@dataclass(frozen=True)
class Axis:
    """One loop of the main reduction."""

    name: str
    extent: int


@dataclass(frozen=True)
class Access:
    """An input of the main reduction, of which each step reads one element.

    ``indices[d]`` are the axes in the index of dimension ``d``; ``axes[d]`` is the axis that is
    this index, or None where the index is computed (a window, a group). ``produced`` says whether
    another stage of the operator computes the input (padding), not the caller. ``steps[d]`` is by
    how much a step of each axis moves the index of dimension ``d``, where that is the same
    everywhere (0 for a group). ``groups[d]`` are the axes of which several steps are one group: how
    many, and by how much the next group moves the index.
    """

    buffer: str
    shape: tuple[int, ...]
    indices: tuple[frozenset[str], ...]
    axes: tuple[str | None, ...]
    produced: bool
    steps: tuple[tuple[tuple[str, int], ...], ...]
    groups: tuple[tuple[tuple[str, int, int], ...], ...]

    def elements(self, tiles: Mapping[str, int]) -> int:
        """The elements of the bounding box that a tile of the axes reads, one step of others."""
        return math.prod(self.box(tiles))

    def box(self, tiles: Mapping[str, int]) -> tuple[int, ...]:
        """The extents of that box."""
        return tuple(
            min(size, 1 + _reach(steps, tiles) + _reach_of_groups(groups, tiles))
            for size, steps, groups in zip(self.shape, self.steps, self.groups, strict=True)
        )

    @property
    def all_axes(self) -> frozenset[str]:
        """The axes that the input changes along."""
        return frozenset[str]().union(*self.indices)

    @property
    def computed_axes(self) -> frozenset[str]:
        """The axes in computed indices."""
        pairs = zip(self.indices, self.axes, strict=True)
        return frozenset[str]().union(*(index for index, axis in pairs if axis is None))

    @property
    def consecutive_axes(self) -> frozenset[str]:
        """The axes along which neighbours lie next to each other in memory, or nearly so."""
        long = [index for index, size in zip(self.indices, self.shape, strict=True) if size > 1]
        return long[-1] if long else frozenset()


@dataclass(frozen=True)
class LoopNest:
    """The main reduction of an operator and the stages around it.

    ``block`` is the name of the reduction, ``spatial`` its axes in the order of the result's
    dimensions, ``producers`` and ``consumers`` are the stages before and after it, nearest first.
    """

    block: str
    spatial: tuple[Axis, ...]
    reduction: tuple[Axis, ...]
    inputs: tuple[Access, ...]
    producers: tuple[str, ...]
    consumers: tuple[str, ...]

    @property
    def tiled_spatial(self) -> tuple[Axis, ...]:
        """The spatial axes that have something to split."""
        return tuple(axis for axis in self.spatial if axis.extent > 1)

    @property
    def tiled_reduction(self) -> tuple[Axis, ...]:
        """The reduction axes that have something to split."""
        return tuple(axis for axis in self.reduction if axis.extent > 1)


@lru_cache(maxsize=64)
def lower(operator: Operator) -> Any:
    """The unscheduled ``tvm.IRModule`` of an operator, its one function named ``main``.

    Modules never change: a schedule works on its own copy.
    """
    import tvm
    from tvm import te

    function = te.create_prim_func(operator.compute())
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})


def known_loop_nest(operator: Operator, sketch: str) -> LoopNest:
    """The loop nest of an operator with one reduction. Raises ``UsageError`` for another."""
    nest = main_loop_nest(operator)
    if nest is None:
        raise UsageError(f"sketch {sketch} needs one reduction, {operator.name} has not")
    return nest


@lru_cache(maxsize=64)
def main_loop_nest(operator: Operator) -> LoopNest | None:
    """The loop nest of the operator's one reduction; None if it has none or several, or if stages
    after it have another shape, so that they cannot be computed tile by tile of it."""
    return loop_nest_of(lower(operator))


def loop_nest_of(module: Any) -> LoopNest | None:
    """The same of an unscheduled module, whose one function is named ``main``."""
    schedule = schedule_of(module)
    blocks = [(block, schedule.get(block)) for block in _blocks(schedule)]
    reductions = [(ref, block) for ref, block in blocks if block.init is not None]
    if len(reductions) != 1:
        return None
    ref, block = reductions[0]
    produced = {write.source.name for _, other in blocks for write in other.writes}
    reached = _names(schedule, _closure(schedule.get_consumers, ref))
    # In the order of the program: of branches that meet again, the last stage is where they meet.
    after = [ref for ref, block in blocks if block.name_hint in reached]
    shapes = {_extents(schedule.get(one)) for one in (ref, *after)}
    if len(shapes) > 1:
        return None
    return LoopNest(
        block=block.name_hint,
        spatial=_axes(block, reduction=False),
        reduction=_axes(block, reduction=True),
        inputs=_accesses(block, produced),
        producers=_names(schedule, _closure(schedule.get_producers, ref)),
        consumers=_names(schedule, after),
    )


def output_stage(schedule: Any, sums: Any, nest: LoopNest, scope: str = "global") -> Any:
    """The stage that stores the result: the epilogue, or a copy of the sums.

    The sums are in memory of ``scope``. All of the epilogue but its last stage is inlined.
    """
    if not nest.consumers:
        return schedule.cache_write(sums, 0, scope)
    if scope != "global":
        schedule.set_scope(sums, 0, scope)
    for name in nest.consumers[:-1]:
        schedule.compute_inline(schedule.get_sblock(name))
    return schedule.get_sblock(nest.consumers[-1])


def _blocks(schedule: Any) -> list[Any]:
    root = schedule.get_sblock("root")
    return list(schedule.get_child_blocks(root))


def _closure(step: Any, start: Any) -> list[Any]:
    """All blocks that ``step`` reaches, nearest first."""
    found: list[Any] = []
    frontier = list(step(start))
    while frontier:
        found += frontier
        frontier = [block for reached in frontier for block in step(reached)]
    return found


def _names(schedule: Any, blocks: list[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(schedule.get(block).name_hint for block in blocks))


def _axis_name(variable: Any) -> str:
    return str(variable.name).removeprefix("v_")


def _axes(block: Any, *, reduction: bool) -> tuple[Axis, ...]:
    from tvm.tirx import IterVar

    wanted = IterVar.CommReduce if reduction else IterVar.DataPar
    return tuple(
        Axis(_axis_name(axis.var), int(axis.dom.extent))
        for axis in block.iter_vars
        if axis.iter_type == wanted
    )


def _extents(block: Any) -> tuple[int, ...]:
    """The shape of what a stage computes."""
    return tuple(axis.extent for axis in _axes(block, reduction=False))


def _accesses(block: Any, produced: set[str]) -> tuple[Access, ...]:
    from tvm.tirx import Var

    written = {write.source.name for write in block.writes}
    extents = {_axis_name(axis.var): int(axis.dom.extent) for axis in block.iter_vars}
    reads = [read for read in block.reads if read.source.name not in written]
    return tuple(
        Access(
            buffer=read.source.name,
            shape=tuple(int(extent) for extent in read.source.shape),
            indices=tuple(_variables(r.min) for r in read.region),
            axes=tuple(_axis_name(r.min) if isinstance(r.min, Var) else None for r in read.region),
            produced=read.source.name in produced,
            steps=tuple(_steps(r.min) for r in read.region),
            groups=tuple(_groups(r.min, extents) for r in read.region),
        )
        for read in reads
    )


def _steps(index: Any) -> tuple[tuple[str, int], ...]:
    from tvm.tirx.analysis import undefined_vars

    variables = sorted(undefined_vars(index), key=_axis_name)
    origin = _index_at(index, dict.fromkeys(variables, 0))
    moved = [
        _index_at(index, {other: int(other is one) for other in variables}) for one in variables
    ]
    return tuple(
        (_axis_name(one), place - origin) for one, place in zip(variables, moved, strict=True)
    )


def _groups(index: Any, extents: Mapping[str, int]) -> tuple[tuple[str, int, int], ...]:
    """The axes that move an index only after several steps: how many, and by how much."""
    from tvm.tirx.analysis import undefined_vars

    variables = sorted(undefined_vars(index), key=_axis_name)
    still = {name for name, by in _steps(index) if by == 0}
    origin = _index_at(index, dict.fromkeys(variables, 0))
    found = []
    for one in variables:
        if _axis_name(one) not in still:
            continue
        extent = extents[_axis_name(one)]
        for every in (size for size in range(2, extent) if extent % size == 0):
            moved = _index_at(index, {it: every if it is one else 0 for it in variables})
            if moved != origin:
                found.append((_axis_name(one), every, moved - origin))
                break
    return tuple(found)


def _reach(steps: Sequence[tuple[str, int]], tiles: Mapping[str, int]) -> int:
    return sum(abs(by) * (tiles.get(axis, 1) - 1) for axis, by in steps)


def _reach_of_groups(groups: Sequence[tuple[str, int, int]], tiles: Mapping[str, int]) -> int:
    """A tile whose size is no multiple of a group's may begin inside of one."""
    reach = 0
    for axis, every, by in groups:
        tile = tiles.get(axis, 1)
        aligned = tile % every == 0 or every % tile == 0
        reach += abs(by) * ((tile - 1) // every if aligned else (tile + every - 2) // every)
    return reach


def _index_at(index: Any, values: Mapping[Any, int]) -> int:
    """The value of an index where its variables have these values."""
    from tvm.sym import Analyzer
    from tvm.tirx import IntImm

    analyzer = Analyzer()
    for variable, value in values.items():
        analyzer.bind(variable, IntImm("int32", value))
    return int(analyzer.simplify(index))


def _variables(index: Any) -> frozenset[str]:
    from tvm.tirx.analysis import undefined_vars

    return frozenset(_axis_name(variable) for variable in undefined_vars(index))
