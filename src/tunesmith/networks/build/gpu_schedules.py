"""Schedules for what no operator of ours covers, on a GPU: by TVM's rules, or a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.errors import TunesmithError
from tunesmith.sketches.tir.schedules import schedule_of

# Threads of a block of the plain schedule.
_THREADS = 256


def scheduled_for_gpu() -> Any:
    """A pass that schedules the functions of a module that are not scheduled yet.

    Raises ``TunesmithError`` for a function that cannot be scheduled: its loops would run on the
    CPU, over memory of the GPU.
    """
    import tvm
    from tvm.s_tir.dlight import gpu
    from tvm.target import Target
    from tvm.tirx import PrimFunc

    # In the order of TVM's pipeline for CUDA.
    rules = (
        gpu.Matmul(),
        gpu.GEMV(),
        gpu.Reduction(),
        gpu.GeneralReduction(),
        gpu.Transpose(),
        gpu.Fallback(),
    )

    def scheduled(module: Any, _: Any) -> Any:
        target = Target.current(allow_none=False)
        for variable, function in module.functions.items():
            if isinstance(function, PrimFunc) and not _has_threads(function.body):
                module[variable] = _scheduled(variable.name_hint, function, target, rules)
        return module

    return tvm.transform.module_pass(scheduled, opt_level=0, name="ScheduledForGpu")


def _scheduled(name: str, function: Any, target: Any, rules: Sequence[Any]) -> Any:
    from tvm.s_tir.schedule import ScheduleError

    for rule in rules:
        try:
            schedule = rule.apply(function, target, False)
        except Exception:
            continue
        if schedule is not None and _is_on_gpu(schedule):
            return schedule.mod["main"].with_attrs(dict(function.attrs))
    refusal = TunesmithError(
        f"no schedule for a GPU is known for {name}, which no operator covers: build the network "
        "for the CPU, and please report it"
    )
    try:
        schedule = _plain_schedule(function)
    except ScheduleError as error:
        raise refusal from error
    if not _is_on_gpu(schedule):
        raise refusal
    return schedule.mod["main"].with_attrs(dict(function.attrs))


def _is_on_gpu(schedule: Any) -> bool:
    """Whether threads compute all stages. TVM would compile the others for the CPU, unchecked."""
    return all(
        any(schedule.get(loop).thread_binding is not None for loop in schedule.get_loops(block))
        or _has_threads(schedule.get(block).body)
        for block in schedule.get_child_blocks(schedule.get_sblock("root"))
    )


def _plain_schedule(function: Any) -> Any:
    """A thread for each result of each stage. TVM's rules do not take nested stages, such as those
    of adaptive pooling. Raises ``ScheduleError``."""
    from tvm import IRModule
    from tvm.tirx import IterVar

    schedule = schedule_of(IRModule({"main": function}))
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        kinds = [variable.iter_type for variable in schedule.get(block).iter_vars]
        loops = schedule.get_loops(block)
        over_results = [
            loop for loop, kind in zip(loops, kinds, strict=False) if kind == IterVar.DataPar
        ]
        if not over_results:
            over_results = [schedule.add_unit_loop(block)]
        schedule.reorder(*over_results, *(loop for loop in loops if loop not in over_results))
        fused = schedule.fuse(*over_results) if len(over_results) > 1 else over_results[0]
        blocks, threads = schedule.split(fused, [None, _THREADS])
        schedule.bind(blocks, "blockIdx.x")
        schedule.bind(threads, "threadIdx.x")
    return schedule


def _has_threads(statement: Any) -> bool:
    """Whether a statement launches threads, as TVM's functions for sorting do unscheduled."""
    import tvm_ffi
    from tvm.tirx import AttrStmt, For, ForKind

    found: list[Any] = []

    def attribute(part: Any) -> None:
        if part.attr_key == "thread_extent":
            found.append(part)

    def loop(part: Any) -> None:
        if part.kind == ForKind.THREAD_BINDING:
            found.append(part)

    tvm_ffi.structural_walk(statement, [(AttrStmt, attribute), (For, loop)], order="pre")
    return bool(found)
