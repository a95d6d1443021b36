"""Sketches by name, and the one to use for a task."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points

from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators import Operator
from tunesmith.sketches.cpu_rows import CpuRows
from tunesmith.sketches.cpu_tiled import CpuTiled
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target

ENTRY_POINT_GROUP = "tunesmith.sketches"


@lru_cache(maxsize=1)
def sketches() -> dict[str, Sketch]:
    """All sketches by name, in the order in which they are tried: ours, then installed plug-ins."""
    known: dict[str, Sketch] = {sketch.name: sketch for sketch in (CpuTiled(), CpuRows())}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        sketch = entry.load()()
        known[sketch.name] = sketch
    return known


def sketch_for(operator: Operator, target: Target, name: str | None = None) -> Sketch:
    """The sketch of that name, or the first one that supports the operator on the target.

    Raises ``UsageError`` for an unknown name, a sketch that cannot schedule the operator, and an
    operator that no sketch supports.
    """
    known = sketches()
    if name is None:
        for sketch in known.values():
            if sketch.supports(operator, target):
                return sketch
        raise UsageError(f"no sketch can schedule {operator.name} on {target.key}")
    if name not in known:
        raise unknown_name("sketch", name, known)
    if not known[name].supports(operator, target):
        raise UsageError(f"sketch {name} cannot schedule {operator.name} on {target.key}")
    return known[name]
