"""Programs made faster by evolution: random edits of their code, kept where the tests allow it.

>>> import tunesmith as ts
>>> ts.evolve.SearchSettings(population=16).elites
0.25

The package itself is called: ``ts.evolve(ts.evolve.NumbaKernel(function), tests)`` is ``evolve``.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunesmith.evolve.edit import Edit
    from tunesmith.evolve.evaluation.pool import EvaluationSettings
    from tunesmith.evolve.front import Front, Point
    from tunesmith.evolve.llvm.kernel import LLVMKernel, NumbaKernel
    from tunesmith.evolve.mlir.model import StableHLOModule
    from tunesmith.evolve.run import evolve
    from tunesmith.evolve.search.nsga2 import SearchSettings

_HOMES = {
    "Edit": "tunesmith.evolve.edit",
    "EvaluationSettings": "tunesmith.evolve.evaluation.pool",
    "Front": "tunesmith.evolve.front",
    "LLVMKernel": "tunesmith.evolve.llvm.kernel",
    "NumbaKernel": "tunesmith.evolve.llvm.kernel",
    "Point": "tunesmith.evolve.front",
    "SearchSettings": "tunesmith.evolve.search.nsga2",
    "StableHLOModule": "tunesmith.evolve.mlir.model",
    "evolve": "tunesmith.evolve.run",
}

__all__ = [
    "Edit",
    "EvaluationSettings",
    "Front",
    "LLVMKernel",
    "NumbaKernel",
    "Point",
    "SearchSettings",
    "StableHLOModule",
    "evolve",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Room(ModuleType):
    """A package that is a function, too."""

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        return importlib.import_module("tunesmith.evolve.run").evolve(*arguments, **settings)


sys.modules[__name__].__class__ = _Room
