"""Other definitions of an operator, such as those in networks: their loops by our names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator
from tunesmith.sketches.tir.loop_nest import Axis, LoopNest, loop_nest_of, lower
from tunesmith.sketches.tir.schedules import schedule_of


def begin(definition: Any, operator: Operator, nest: LoopNest) -> tuple[Any, LoopNest]:
    """A schedule of an unscheduled module that computes the operator, and the module's loop nest.

    Stages have their names in the module; axes and inputs have those that they have in ``nest``,
    the operator's own, so that its configs apply. Raises ``InstantiationError`` where the loops, or
    the elements that they read, are not those of the operator. What is computed of these elements
    is not compared.
    """
    schedule = schedule_of(definition)
    if definition is lower(operator):
        return schedule, nest
    found = loop_nest_of(definition)
    if found is not None and not nest.producers:
        for name in found.producers:  # TVM has a stage for padding even if nothing is padded
            schedule.compute_inline(schedule.get_sblock(name))
        found = loop_nest_of(schedule.mod)
    renamed = None if found is None else _renamed(found, nest)
    if renamed is None:
        raise InstantiationError(f"the loops of the definition are not those of {operator.name}")
    return schedule, renamed


def _renamed(theirs: LoopNest, ours: LoopNest) -> LoopNest | None:
    names = _names(theirs, ours)
    if names is None or _reads(theirs, names) != _reads(ours, {}):
        return None
    spatial, reduction = (
        tuple(Axis(names[axis.name], axis.extent) for axis in axes)
        for axes in (theirs.spatial, theirs.reduction)
    )
    return replace(theirs, spatial=spatial, reduction=reduction, inputs=ours.inputs)


def _names(theirs: LoopNest, ours: LoopNest) -> dict[str, str] | None:
    """Our names of their axes; None where the extents differ.

    Spatial axes are in the order of the result, those of the sum in any: an input tells which is
    which. Axes of one step may be missing on either side.
    """
    if len(theirs.inputs) != len(ours.inputs):
        return None
    names = _in_order(theirs.spatial, ours.spatial)
    of_sum = {axis.name for axis in theirs.reduction}
    for access, other in zip(theirs.inputs, ours.inputs, strict=True):
        if len(access.axes) == len(other.axes):
            pairs = zip(access.axes, other.axes, strict=True)
            names |= {one: own for one, own in pairs if one in of_sum and own is not None}
    known = set(names.values())
    names |= _in_order(
        [axis for axis in theirs.reduction if axis.name not in names],
        [axis for axis in ours.reduction if axis.name not in known],
    )
    for axis in (*theirs.spatial, *theirs.reduction):
        names.setdefault(axis.name, f"their_{axis.name}")
    extents = {axis.name: axis.extent for axis in (*ours.spatial, *ours.reduction)}
    tiled = {
        names[axis.name]: axis.extent for axis in (*theirs.tiled_spatial, *theirs.tiled_reduction)
    }
    return names if tiled == {name: size for name, size in extents.items() if size > 1} else None


def _in_order(theirs: Sequence[Axis], ours: Sequence[Axis]) -> dict[str, str]:
    """Pairs of axes, one after the other; those of one step only if all have a partner."""
    if len(theirs) != len(ours):
        theirs, ours = ([axis for axis in axes if axis.extent > 1] for axes in (theirs, ours))
    return {one.name: own.name for one, own in zip(theirs, ours, strict=False)}


def _reads(nest: LoopNest, names: Mapping[str, str]) -> list[Any]:
    """What the inputs are, and by how much their indices move along each axis, by our names.

    Axes of one step do not matter.
    """
    units = {axis.name for axis in (*nest.spatial, *nest.reduction) if axis.extent == 1}

    def moves(along: Iterable[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
        return {(names.get(axis, axis), *by) for axis, *by in along if axis not in units}

    return [
        (access.shape, access.produced, [*map(moves, access.steps)], [*map(moves, access.groups)])
        for access in nest.inputs
    ]
