"""TVM's schedules, without what TVM checks of each call."""

from __future__ import annotations

from functools import cache
from typing import Any


def schedule_of(module: Any) -> Any:
    """A ``tvm.s_tir.Schedule`` of a module whose methods do not check the types of their arguments.

    In a schedule of some dozen calls that takes a third of the time.
    """
    return _unchecked()(module)


@cache
def _unchecked() -> Any:
    from tvm.s_tir import Schedule

    methods = {
        name: method.__wrapped__
        for name, method in vars(Schedule).items()
        if hasattr(method, "__wrapped__")
    }
    return type("UncheckedSchedule", (Schedule,), methods)
