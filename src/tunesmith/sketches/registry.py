"""Sketches by name, and the one to use for a task."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators import Operator
from tunesmith.sketches.cpu_rows import CpuRows
from tunesmith.sketches.cpu_tiled import CpuTiled
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target

ENTRY_POINT_GROUP = "tunesmith.sketches"

_OURS: dict[str, Sketch] = {sketch.name: sketch for sketch in (CpuTiled(), CpuRows())}


@cache
def _plug_ins() -> dict[str, EntryPoint]:
    """What other packages registered; a name of ours always means ours."""
    found = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {name: point for name, point in found.items() if name not in _OURS}


@cache
def _load(name: str) -> Sketch:
    if name in _OURS:
        return _OURS[name]
    point = _plug_ins()[name]
    try:
        loaded = point.load()()
    except Exception as error:  # a stranger's module may fail in any way
        reason = " ".join(str(error).split())
        raise UsageError(f"sketch '{name}' ({point.value}) does not load: {reason}") from error
    if not isinstance(loaded, Sketch):
        raise UsageError(f"sketch '{name}' ({point.value}) is no subclass of Sketch")
    return loaded


def _names() -> Iterator[str]:
    yield from _OURS
    yield from sorted(_plug_ins())


def sketches() -> dict[str, Sketch]:
    """All sketches by name, in the order in which they are tried: ours, then installed plug-ins.

    Raises ``UsageError`` for a plug-in that does not load.
    """
    return {name: _load(name) for name in _names()}


def sketch_for(operator: Operator, target: Target, name: str | None = None) -> Sketch:
    """The sketch of that name, or the first one that supports the operator on the target.

    Raises ``UsageError`` for an unknown name, a sketch that cannot schedule the operator, an
    operator that no sketch supports, and a plug-in that does not load.
    """
    if name is None:
        for candidate in map(_load, _names()):
            if candidate.supports(operator, target):
                return candidate
        raise UsageError(f"no sketch can schedule {operator.name} on {target.key}")
    if name not in _names():
        raise unknown_name("sketch", name, _names())
    sketch = _load(name)
    if not sketch.supports(operator, target):
        fitting = [other.name for other in sketches().values() if other.supports(operator, target)]
        raise UsageError(
            f"sketch {name} cannot schedule {operator.name} on {target.key}: "
            f"take {' or '.join(fitting) or 'another operator, no sketch can'}"
        )
    return sketch
