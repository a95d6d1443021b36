"""TVM's schedules, without what TVM checks of each call."""

from __future__ import annotations

from functools import cache
from typing import Any


def schedule_of(module: Any) -> Any:
    """A ``tvm.s_tir.Schedule`` of a module whose methods do not check the types of their arguments.

    In a schedule of some dozen calls that takes a third of the time.
    """
    return _unchecked()(module)


def copy_of(schedule: Any) -> Any:
    """A copy of such a schedule, which goes on from there; its blocks and loops are those of both.

    It takes some microseconds.
    """
    from tvm.s_tir.schedule import _ffi_api

    copied = _unchecked().__new__(_unchecked())
    copied.__init_handle_by_constructor__(_ffi_api.ScheduleCopy, schedule)
    return copied


@cache
def _unchecked() -> Any:
    from tvm.s_tir import Schedule

    methods = {
        name: method.__wrapped__
        for name, method in vars(Schedule).items()
        if hasattr(method, "__wrapped__")
    }
    return type("UncheckedSchedule", (Schedule,), methods)
