"""How long a built function takes: a quick estimate, then repeats of a proper length."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

# How long to call a function for an estimate, where a single call is shorter; in seconds. Python
# cannot time a single short call: making it takes longer.
_ESTIMATE_TIME = 0.001

# What the first call may lose in seconds on starting threads, page faults and cold caches.
_WARM_UP = 0.02

# What the first call on a device may lose on loading its code, in seconds.
_LOADING = 0.2

# Repeats that differ by more than this factor were disturbed by something else on the machine.
_SPREAD = 1.25

# How many series of repeats are made at most where they are disturbed.
MOST_SERIES = 4

# A program so many times as slow as the best known has one series only: exact figures decide
# among the fast ones.
_CONTENDER = 1.5

# Writes over the caches before a repeat, but leaves the first argument (the data) in them.
_FLUSH = "cache_flush_cpu_non_first_arg"


def seconds_of(call: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def estimate(
    call: Callable[[], object], time_calls: Callable[[int], float], first: float, hopeless: float
) -> float:
    """Seconds of a call, given those of the first one.

    One more call is made, unless the first took so much longer than ``hopeless`` seconds that no
    warm-up can be the reason. ``time_calls`` gives the mean seconds of so many calls; it is asked
    where a single call is short.
    """
    if first > hopeless + _WARM_UP:
        return first
    seconds = min(first, seconds_of(call))
    if seconds < _ESTIMATE_TIME:
        seconds = time_calls(calls_a_repeat(seconds, _ESTIMATE_TIME))
    return seconds


def estimate_by_device(time_calls: Callable[[int], float], first: float, hopeless: float) -> float:
    """The same by a device's own clock alone.

    The processor's would count what else it is doing; so would a single look, and what seems to
    take more than ``hopeless`` seconds is looked at twice.
    """
    if first > hopeless + _LOADING:
        return first
    seconds = time_calls(1)
    if seconds < _ESTIMATE_TIME:
        seconds = time_calls(calls_a_repeat(seconds, _ESTIMATE_TIME))
    if seconds > hopeless:
        seconds = min(seconds, time_calls(calls_a_repeat(seconds, _ESTIMATE_TIME)))
    return seconds


def until_steady(
    repeats: Callable[[], list[float]], most_series: int, best: float = math.inf
) -> list[float]:
    """The seconds of a series of repeats, and of further ones until one is undisturbed.

    So the median outlives a disturbance that is shorter than the last series. What is much slower
    than the ``best`` seconds known is not worth the time.
    """
    seconds = series = repeats()
    for _ in range(most_series - 1):
        if max(series) <= _SPREAD * min(series) or min(series) > _CONTENDER * best:
            break
        series = repeats()
        seconds = seconds + series
    return seconds


def calls_a_repeat(seconds: float, min_repeat_time: float) -> int:
    """How many calls of so many seconds make a repeat of at least ``min_repeat_time`` seconds."""
    return max(1, math.ceil(min_repeat_time / max(seconds, 1e-9)))


def time_repeats(
    module: Any, arguments: list[Any], calls: int, repeats: int, flush_cache: bool
) -> list[float]:
    """Mean seconds of one call of ``main``, one figure a repeat, by TVM's own timer.

    TVM makes one more call before the first repeat. With ``flush_cache`` the caches are emptied
    before each repeat, which then is a single call.
    """
    import tvm

    timer = module.time_evaluator(
        "main",
        tvm.cpu(),
        number=1 if flush_cache else calls,
        repeat=repeats,
        f_preproc=_FLUSH if flush_cache else "",
    )
    return [float(seconds) for seconds in timer(*arguments).results]
