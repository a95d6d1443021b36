"""What MetaSchedule's workers run: builds and runs that end when the time is up.

Its own default build imports all tensor intrinsics, which takes a new worker longer than its
time-out allows. Workers find these functions by importing this module.
"""

from __future__ import annotations

import time
from typing import Any

OUT_OF_TIME = "the time is up"

_deadline: list[float] = []


def work_until(deadline: float) -> None:
    """In a worker: refuse whatever begins after ``deadline``, in seconds of ``time.time``."""
    _deadline[:] = [deadline]


def build(module: Any, target: Any, _parameters: Any) -> Any:
    """Compile a scheduled module, weights laid out as its schedule wants them."""
    _check_time()
    return compile_scheduled(module, target)


def compile_scheduled(module: Any, target: Any) -> Any:
    """The same at any time. ``main`` takes constant weights in the schedule's own layout."""
    import tvm
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    return tvm.tirx.build(RemoveWeightLayoutRewriteBlock(True)(module), target)


def run(module: Any, device: Any, config: Any, arguments: Any) -> Any:
    """The seconds of a call, as MetaSchedule measures them."""
    from tvm.s_tir.meta_schedule.runner.utils import run_evaluator_common

    _check_time()
    return run_evaluator_common(module, device, config, arguments)


def _check_time() -> None:
    if _deadline and time.time() > _deadline[0]:
        raise RuntimeError(OUT_OF_TIME)  # a TimeoutError would pass for a slow build
