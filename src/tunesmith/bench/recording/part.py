"""Of which space a recording is, and which part of it: a sketch's, as far as ``--where`` lets it.

Recordings say so in their metadata; of those that were made before they did it is told from the
sketch, as long as that still has the version that was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tunesmith.errors import SpaceError, TunesmithError

if TYPE_CHECKING:
    from tunesmith.measure.recorded.recording import Recording
    from tunesmith.space import Space


def part_fields(whole: Space, part: Space) -> dict[str, Any]:
    """What a recording's metadata say of the ``part`` of the ``whole`` space that it is of.

    ``where`` are the expressions that restrict it, ``size`` and ``whole_size`` how many configs the
    two have, None where these cannot be counted. JSON-ready.
    """
    where = [str(each) for each in part.constraints if each not in whole.constraints]
    return {"where": where, "size": _size(part), "whole_size": _size(whole)}


def recorded_part(recording: Recording) -> dict[str, Any]:
    """The ``sketch`` of a recording, ``where`` and ``whole_size``; None is what nobody knows."""
    metadata = recording.metadata
    fields: Mapping[str, Any] = metadata
    if "where" not in metadata:
        whole = _space_of_sketch(metadata)
        known = whole is not None and whole.parameters == recording.space.parameters
        if whole is None or not known or not {*whole.constraints} <= {*recording.space.constraints}:
            fields = {}
        else:
            fields = part_fields(whole, recording.space)
    return {
        "sketch": metadata.get("sketch"),
        "where": fields.get("where"),
        "whole_size": fields.get("whole_size"),
    }


def _space_of_sketch(metadata: Mapping[str, Any]) -> Space | None:
    """The space that the recorded sketch has; None if that cannot be told any more."""
    from tunesmith.operators import parse_operator
    from tunesmith.sketches import sketch_for
    from tunesmith.target import Target

    try:
        text, made, sketch = (metadata[name] for name in ("operator", "target", "sketch"))
        operator = parse_operator(text["operator"], text["options"])
        target = Target(mcpu=made["mcpu"], cores=made["num-cores"])
        found = sketch_for(operator, target, sketch["name"])
        return found.space(operator, target) if found.version == sketch["version"] else None
    except (KeyError, TypeError, TunesmithError):  # another tool's record, or an older one of ours
        return None


def _size(space: Space) -> int | None:
    try:
        return space.size
    except SpaceError:
        return None
