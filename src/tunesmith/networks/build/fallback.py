"""Schedules for what no operator of ours covers: on all cores, with vectors."""

from __future__ import annotations

from typing import Any

_LANES = 16


def scheduled_for_cpu() -> Any:
    """A pass that schedules the functions of a module that are not scheduled yet."""
    import tvm
    from tvm.tirx import PrimFunc

    def scheduled(module: Any, _: Any) -> Any:
        for variable, function in module.functions.items():
            if isinstance(function, PrimFunc):
                module[variable] = _scheduled(function)
        return module

    return tvm.transform.module_pass(scheduled, opt_level=0, name="ScheduledForCpu")


def _scheduled(function: Any) -> Any:
    """The function with its loops fused, on all cores and in vectors, if it is one plain nest."""
    from tvm import IRModule
    from tvm.s_tir import Schedule
    from tvm.s_tir.schedule import ScheduleError

    schedule = Schedule(IRModule({"main": function}))
    blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    try:
        for block in blocks:
            _parallel_vectors(schedule, block)
    except ScheduleError:
        return function
    return schedule.mod["main"].with_attrs(dict(function.attrs))


def _parallel_vectors(schedule: Any, block: Any) -> None:
    loops = schedule.get_loops(block)
    if not loops or schedule.get(block).init is not None:
        return
    fused = schedule.fuse(*loops) if len(loops) > 1 else loops[0]
    extent = int(schedule.get(fused).extent)
    if extent % _LANES:
        schedule.parallel(fused)
        return
    outer, inner = schedule.split(fused, [None, _LANES])
    schedule.vectorize(inner)
    schedule.parallel(outer)
