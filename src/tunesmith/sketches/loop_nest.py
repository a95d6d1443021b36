"""What a sketch has to know of an operator: the loops of its main reduction and what they touch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tunesmith.operators import Operator


@dataclass(frozen=True)
class Axis:
    """One loop of the main reduction."""

    name: str
    extent: int


@dataclass(frozen=True)
class Access:
    """An input of the main reduction.

    ``axes[d]`` names the axis that indexes dimension ``d`` by itself, or is None where the index is
    composed of several (a window) or constant.
    """

    buffer: str
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    produced: bool
    """Whether another stage of the operator computes it (padding), rather than the caller."""


@dataclass(frozen=True)
class LoopNest:
    """The main reduction of an operator and the stages around it.

    ``output_axes`` are the spatial axes in the order of the result's dimensions.
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


def lower(operator: Operator) -> Any:
    """The unscheduled ``tvm.IRModule`` of an operator, its one function named ``main``."""
    import tvm
    from tvm import te

    function = te.create_prim_func(operator.compute())
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})


@lru_cache(maxsize=64)
def main_loop_nest(operator: Operator) -> LoopNest | None:
    """The loop nest of the operator's one reduction, or None if it has none or several."""
    from tvm.s_tir import Schedule

    schedule = Schedule(lower(operator))
    blocks = [(block, schedule.get(block)) for block in _blocks(schedule)]
    reductions = [(ref, block) for ref, block in blocks if block.init is not None]
    if len(reductions) != 1:
        return None
    ref, block = reductions[0]
    produced = {write.source.name for _, other in blocks for write in other.writes}
    return LoopNest(
        block=block.name_hint,
        spatial=_axes(block, reduction=False),
        reduction=_axes(block, reduction=True),
        inputs=_accesses(block, produced),
        producers=_names(schedule, _closure(schedule.get_producers, ref)),
        consumers=_names(schedule, _closure(schedule.get_consumers, ref)),
    )


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


def _accesses(block: Any, produced: set[str]) -> tuple[Access, ...]:
    """The regions that one step of the block reads; each is a single element of its buffer."""
    from tvm.tirx import Var

    written = {write.source.name for write in block.writes}
    reads = [read for read in block.reads if read.source.name not in written]
    return tuple(
        Access(
            buffer=read.source.name,
            shape=tuple(int(extent) for extent in read.source.shape),
            axes=tuple(_axis_name(r.min) if isinstance(r.min, Var) else None for r in read.region),
            produced=read.source.name in produced,
        )
        for read in reads
    )
