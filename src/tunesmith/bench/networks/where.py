"""Where the time of a network's call goes, in a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.compiler.compile import compiled
from tunesmith.networks import Network
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.build.programs import kernel_name
from tunesmith.networks.build.selection import defaults
from tunesmith.networks.reporting.profile import call_times
from tunesmith.reports.networks.model import CallPart, CallTimes, share_of_peak
from tunesmith.sketches.tir import emit
from tunesmith.task import Task

# So many of the dearest are kept.
_KEPT = 5


def where_time_goes(times: CallTimes, runtime: float) -> dict[str, Any]:
    """The dearest kinds of functions of a call, and the share of ``runtime`` seconds of it.

    Calls of the same function count as one kind; ``share`` is of the whole call.
    """
    kinds: dict[str, list[CallPart]] = {}
    for part in times.parts:
        kinds.setdefault(part.name, []).append(part)
    spent = {name: sum(part.seconds for part in parts) for name, parts in kinds.items()}
    dearest = sorted(kinds, key=lambda name: -spent[name])[:_KEPT]
    return {
        "runtime_share": runtime / times.seconds,
        "parts": [_kind(kinds[name], spent[name], times.seconds) for name in dearest],
    }


def runtime_seconds(network: Network) -> float:
    """What a call takes beside its layers: one whose layers do nothing, without what no operator
    covers.

    Raises like a call.
    """
    kernels = {task: _empty(number, task) for number, task in enumerate(network.tasks)}
    times = call_times(network.linked(kernels))
    return times.seconds - sum(part.seconds for part in times.parts if not part.covered)


def _empty(number: int, task: Task) -> LayerKernel:
    """A kernel that writes one element."""
    name, operator = kernel_name(number, task), task.operator
    with (
        emit.module() as made,
        emit.function(name, [*operator.arguments, operator.result]) as buffers,
    ):
        result = emit.flat(buffers[-1])
        emit.store(result, emit.constant(0, operator.result.dtype), [0])
    module = compiled(made[0], task.target.to_tvm(), checked=False).mod
    return LayerKernel(name, defaults(task)[0], module, None)


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
