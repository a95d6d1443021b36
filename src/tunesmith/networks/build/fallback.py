"""Schedules for what no operator of ours covers: on all cores, with vectors."""

from __future__ import annotations

import math
from typing import Any

from tunesmith.networks.build.concatenation import SCHEDULED
from tunesmith.sketches.tir.schedules import schedule_of

# Elements of float32 in the widest vectors; shorter ones are made of as many as divide an extent.
_LANES = 16
# Starting the other cores takes as long as computing so many elements on one.
_WORTH_ALL_CORES = 16384


def scheduled_for_cpu() -> Any:
    """A pass that schedules the functions of a module that are not scheduled yet."""
    import tvm
    from tvm.tirx import PrimFunc

    def scheduled(module: Any, _: Any) -> Any:
        for variable, function in module.functions.items():
            if isinstance(function, PrimFunc) and SCHEDULED not in (function.attrs or {}):
                module[variable] = _scheduled(function)
        return module

    return tvm.transform.module_pass(scheduled, opt_level=0, name="ScheduledForCpu")


def _scheduled(function: Any) -> Any:
    """The function with elementwise stages inlined, and each of the others on all cores.

    What TVM cannot schedule so stays as it is.
    """
    from tvm import IRModule
    from tvm.s_tir.schedule import ScheduleError

    schedule = schedule_of(IRModule({"main": function}))
    try:
        root = schedule.get_sblock("root")
    except ScheduleError:  # one that was written as loops, such as sorting
        return function
    for block in schedule.get_child_blocks(root):
        try:
            schedule.compute_inline(block)
        except ScheduleError:  # a reduction, or the result
            continue
    for block in schedule.get_child_blocks(root):
        try:
            _spread(schedule, block)
        except ScheduleError:
            continue
    return schedule.mod["main"].with_attrs(dict(function.attrs))


def _spread(schedule: Any, block: Any) -> None:
    """The loops over a stage's results on all cores; those of an elementwise stage in vectors."""
    from tvm.tirx import IterVar

    loops = schedule.get_loops(block)
    statement = schedule.get(block)
    kinds = [variable.iter_type for variable in statement.iter_vars]
    over_results = [
        loop for loop, kind in zip(loops, kinds, strict=False) if kind == IterVar.DataPar
    ]
    if not over_results or loops[: len(over_results)] != over_results:
        return
    fused = schedule.fuse(*over_results) if len(over_results) > 1 else over_results[0]
    count = int(schedule.get(fused).extent)
    steps = math.prod(int(schedule.get(loop).extent) for loop in loops[len(over_results) :])
    if statement.init is None:
        lanes = math.gcd(count, _LANES)
        if lanes > 1:
            fused, inner = schedule.split(fused, [None, lanes])
            schedule.vectorize(inner)
    if count * steps >= _WORTH_ALL_CORES:
        schedule.parallel(fused)
