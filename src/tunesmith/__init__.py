"""Tunesmith finds the fastest program for a tensor operator on the hardware at hand.

>>> import tunesmith as ts
>>> ts.Space([ts.Factorization("m", 1024, 4), ts.Ordinal("unroll", (0, 16, 64))]).size
858
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunesmith import evolve, models, networks, operators, sketches, testing, tuners
    from tunesmith.budget import Budget, Stop
    from tunesmith.errors import (
        InstantiationError,
        MissingDependencyError,
        SpaceError,
        StoreError,
        TunesmithError,
        UsageError,
    )
    from tunesmith.kernel.kernel import Kernel
    from tunesmith.kernel.prepared import PreparedKernel
    from tunesmith.measure.cluster.measurers import RayMeasurers
    from tunesmith.measure.command.measurer import CommandProblem
    from tunesmith.measure.function import FunctionProblem
    from tunesmith.measure.inline import InlineMeasurer
    from tunesmith.measure.local.measurers import LocalMeasurers
    from tunesmith.measure.recorded.replay import ReplayProblem
    from tunesmith.measure.remote.measurers import RpcMeasurers
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.measure.trial.job import Job
    from tunesmith.measure.trial.measurers import Measurers
    from tunesmith.measurement import Candidate, Measurement, Outcome
    from tunesmith.problem import BaseProblem, Measurer, MeasureSettings, Problem
    from tunesmith.progress import Progress
    from tunesmith.space import (
        Categorical,
        Config,
        Constraint,
        Factorization,
        Ordinal,
        Parameter,
        Permutation,
        Space,
        read_t1,
    )
    from tunesmith.store import Record, Store, open_store
    from tunesmith.target import Target
    from tunesmith.task import Task
    from tunesmith.tuning.compile import compile
    from tunesmith.tuning.result import Found, Result
    from tunesmith.tuning.tune import tune

# Where each public name lives. Imported on first use: some of these modules are heavy.
_HOMES = {
    "tunesmith.budget": ("Budget", "Stop"),
    "tunesmith.errors": (
        "InstantiationError",
        "MissingDependencyError",
        "SpaceError",
        "StoreError",
        "TunesmithError",
        "UsageError",
    ),
    "tunesmith.kernel.kernel": ("Kernel",),
    "tunesmith.measure.cluster.measurers": ("RayMeasurers",),
    "tunesmith.measure.command.measurer": ("CommandProblem",),
    "tunesmith.measure.function": ("FunctionProblem",),
    "tunesmith.measure.inline": ("InlineMeasurer",),
    "tunesmith.measure.local.measurers": ("LocalMeasurers",),
    "tunesmith.measure.recorded.replay": ("ReplayProblem",),
    "tunesmith.measure.remote.measurers": ("RpcMeasurers",),
    "tunesmith.measure.task.problem": ("TaskProblem",),
    "tunesmith.measure.trial.job": ("Job",),
    "tunesmith.measure.trial.measurers": ("Measurers",),
    "tunesmith.measurement": ("Candidate", "Measurement", "Outcome"),
    "tunesmith.kernel.prepared": ("PreparedKernel",),
    "tunesmith.problem": ("BaseProblem", "MeasureSettings", "Measurer", "Problem"),
    "tunesmith.progress": ("Progress",),
    "tunesmith.tuning.result": ("Found", "Result"),
    "tunesmith.space": (
        "Categorical",
        "Config",
        "Constraint",
        "Factorization",
        "Ordinal",
        "Parameter",
        "Permutation",
        "Space",
        "read_t1",
    ),
    "tunesmith.store": ("Record", "Store", "open_store"),
    "tunesmith.target": ("Target",),
    "tunesmith.task": ("Task",),
    "tunesmith.tuning.compile": ("compile",),
    "tunesmith.tuning.tune": ("tune",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_ROOMS = ("evolve", "models", "networks", "operators", "sketches", "testing", "tuners")

__all__ = [
    "BaseProblem",
    "Budget",
    "Candidate",
    "Categorical",
    "CommandProblem",
    "Config",
    "Constraint",
    "Factorization",
    "Found",
    "FunctionProblem",
    "InlineMeasurer",
    "InstantiationError",
    "Job",
    "Kernel",
    "LocalMeasurers",
    "MeasureSettings",
    "Measurement",
    "Measurer",
    "Measurers",
    "MissingDependencyError",
    "Ordinal",
    "Outcome",
    "Parameter",
    "Permutation",
    "PreparedKernel",
    "Problem",
    "Progress",
    "RayMeasurers",
    "Record",
    "ReplayProblem",
    "Result",
    "RpcMeasurers",
    "Space",
    "SpaceError",
    "Stop",
    "Store",
    "StoreError",
    "Target",
    "Task",
    "TaskProblem",
    "TunesmithError",
    "UsageError",
    "compile",
    "evolve",
    "models",
    "networks",
    "open_store",
    "operators",
    "read_t1",
    "sketches",
    "testing",
    "tune",
    "tuners",
]


if not TYPE_CHECKING:  # who would take every name for granted

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return importlib.import_module(f"tunesmith.{name}")
        if name in _HOME_OF:
            return getattr(importlib.import_module(_HOME_OF[name]), name)
        raise AttributeError(f"module 'tunesmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
