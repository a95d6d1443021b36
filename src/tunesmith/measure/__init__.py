"""Measuring: trials in processes of their own, with outcome classes, timeouts, verification."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunesmith.measure.local.measurer import LocalMeasurer
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.measure.trial.job import Job

_HOMES = {
    "Job": "trial.job",
    "LocalMeasurer": "local.measurer",
    "TaskProblem": "task.problem",
}

__all__ = ["Job", "LocalMeasurer", "TaskProblem"]


if not TYPE_CHECKING:  # who would take every name for granted

    def __getattr__(name: str) -> Any:
        # On first use: the server, whose start a run waits for, is of this package too.
        if name in _HOMES:
            home = importlib.import_module(f"tunesmith.measure.{_HOMES[name]}")
            return getattr(home, name)
        raise AttributeError(f"module 'tunesmith.measure' has no attribute {name!r}")
