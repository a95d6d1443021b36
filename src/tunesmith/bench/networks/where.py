"""Where the time of a network's call goes, in a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.reports.networks.model import CallPart, CallTimes, share_of_peak

# So many of the dearest are kept.
_KEPT = 5


def where_time_goes(times: CallTimes) -> dict[str, Any]:
    """The dearest kinds of functions of a call, and the runtime's ``runtime_share`` of it.

    Calls of the same function count as one kind; ``share`` is of the whole call.
    """
    kinds: dict[str, list[CallPart]] = {}
    for part in times.parts:
        kinds.setdefault(part.name, []).append(part)
    spent = {name: sum(part.seconds for part in parts) for name, parts in kinds.items()}
    dearest = sorted(kinds, key=lambda name: -spent[name])[:_KEPT]
    return {
        "runtime_share": times.runtime / times.seconds,
        "parts": [_kind(kinds[name], spent[name], times.seconds) for name in dearest],
    }


def _kind(parts: Sequence[CallPart], spent: float, whole: float) -> Mapping[str, Any]:
    first = parts[0]
    least = None if first.least_seconds is None else len(parts) * first.least_seconds
    return {
        "what": first.brief or first.name,
        "calls": len(parts),
        "share": spent / whole,
        "share_of_peak": share_of_peak(least, spent),
        "limit": first.limit or None,
        "sketch": first.sketch or None,
    }
