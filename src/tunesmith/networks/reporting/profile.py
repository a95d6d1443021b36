"""Where the time of a built network's call goes: each function that it runs, timed inside it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from tunesmith.errors import TunesmithError
from tunesmith.networks.check import random_inputs
from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.graph import Array
from tunesmith.networks.reporting.brief import brief
from tunesmith.operators import operator_from_json
from tunesmith.reports.networks.model import CallPart, CallTimes
from tunesmith.sketches.cpu.model.roofline import bound

# Plain calls and watched ones: as many of each as fit these seconds, within bounds.
_SECONDS = 2.0
_FEWEST, _MOST = 5, 200
# TVM's own functions, which allocate memory and check shapes, count as its runtime.
_RUNTIME: Final = "vm."
# One of them that releases a call's results, and does next to nothing.
_NOTHING: Final = "vm.builtin.null_value"

T = TypeVar("T")
Event = tuple[str, float]
"""A function that a call ran, and its seconds."""


def call_times(network: CompiledNetwork, inputs: Sequence[Array] | None = None) -> CallTimes:
    """Time calls of a network on ``inputs``, random ones by default. Raises like a call.

    Calls that are watched function by function alternate with plain ones. Of each kind the fastest
    quarter counts, which other programs have disturbed least. What plain calls take beyond the
    functions is the runtime's.
    """
    known = network.description
    given = random_inputs(known.inputs, known.bounds) if inputs is None else inputs
    clock = _Clock()
    watched = network.watched(clock)
    network(*given)
    watched(*given)
    plain: list[float] = []
    calls: list[list[Event]] = []
    ends = time.perf_counter() + _SECONDS
    while len(plain) < _FEWEST or (len(plain) < _MOST and time.perf_counter() < ends):
        begun = time.perf_counter()
        network(*given)
        plain.append(time.perf_counter() - begun)
        clock.events = []
        watched(*given)
        calls.append(clock.events)
    return CallTimes(
        statistics.mean(_fastest_quarter(plain, lambda seconds: seconds)),
        _parts(network, _fastest_quarter(calls, _in_functions)),
    )


def _fastest_quarter(calls: Sequence[T], seconds: Callable[[T], float]) -> list[T]:
    return sorted(calls, key=seconds)[: -(-len(calls) // 4)]


def _in_functions(call: Sequence[Event]) -> float:
    """Seconds of a call in the functions that are not the runtime's."""
    return sum(seconds for name, seconds in call if not name.startswith(_RUNTIME))


class _Clock:
    """Hears of each function of a call before and after it, and notes how long it took."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._begun = 0.0

    def __call__(self, _: Any, name: str, before: bool, *_others: Any) -> int:
        now = time.perf_counter()
        if before:
            self._begun = time.perf_counter()
        else:
            self.events.append((str(name), now - self._begun))
        return 0


def _parts(network: CompiledNetwork, calls: Sequence[Sequence[Event]]) -> list[CallPart]:
    """The functions of a call with their mean times, of which watching them is taken off."""
    nothing = [seconds for call in calls for name, seconds in call if name == _NOTHING]
    watching = statistics.median(nothing) if nothing else 0.0
    kept = [[event for event in call if not event[0].startswith(_RUNTIME)] for call in calls]
    return [
        _part(network, events[0][0], statistics.mean(seconds for _, seconds in events) - watching)
        for events in zip(*kept, strict=True)
    ]


def _part(network: CompiledNetwork, name: str, seconds: float) -> CallPart:
    seconds = max(seconds, 1e-9)  # what takes no longer than watching it takes
    description = network.description
    kernel = description.kernels.get(name)
    if kernel is None:
        return CallPart(name=name, seconds=seconds)
    operator = operator_from_json(kernel.operator)
    try:
        least = bound(operator, description.target)
    except TunesmithError:  # LLVM knows the processor, and may not be here: on a board
        least = None
    return CallPart(
        name=name,
        seconds=seconds,
        label=operator.label,
        brief=brief(operator),
        operator=operator.name,
        flops=operator.flops,
        least_seconds=None if least is None else least.seconds,
        limit="" if least is None else least.limit.value,
        sketch=kernel.sketch,
    )
