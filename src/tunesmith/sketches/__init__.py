"""Ways to schedule an operator: each gives a space and turns a config into a program."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tunesmith.sketches.sketch import Sketch

if TYPE_CHECKING:
    from tunesmith.sketches.registry import describe_sketches, sketch_for, sketches, sketches_for

__all__ = ["Sketch", "describe_sketches", "sketch_for", "sketches", "sketches_for"]


if not TYPE_CHECKING:  # who would take every name for granted

    def __getattr__(name: str) -> Any:
        # On first use: who measures one sketch needs no registry.
        if name in __all__:
            return getattr(importlib.import_module("tunesmith.sketches.registry"), name)
        raise AttributeError(f"module 'tunesmith.sketches' has no attribute {name!r}")
