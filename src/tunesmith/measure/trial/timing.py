"""Times a built function: a quick estimate, then repeats of sufficient length."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

# The least seconds of calls for an estimate. Python cannot time a single shorter call: its overhead
# is longer.
_ESTIMATE_TIME = 0.001

# The first call may take this many seconds longer: thread start, page faults, cold caches.
_WARM_UP = 0.02

# The first call on a GPU may take this many seconds longer to load its code.
_LOADING = 0.2

# Repeats that differ by more than this factor were disturbed by other load on the machine.
_SPREAD = 1.25

# The most series of repeats if they are disturbed.
MOST_SERIES = 4

# A program this many times as slow as the best known gets one series only: precision matters for
# fast ones.
_CONTENDER = 1.5

# What it takes to let another program run, besides its own time; in seconds.
_TURN = 0.005

# TVM's function that flushes the caches before a repeat, except for the first argument (the data).
_FLUSH = "cache_flush_cpu_non_first_arg"


def seconds_of(call: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def estimate(
    call: Callable[[], object], time_calls: Callable[[int], float], first: float, hopeless: float
) -> float:
    """The estimated seconds of a call, given those of the first one.

    It makes one more call, unless the first one exceeds ``hopeless`` seconds by more than a warm-up
    can explain. If a call is short, it uses ``time_calls(n)``, the mean seconds of n calls.
    """
    if first > hopeless + _WARM_UP:
        return first
    seconds = min(first, seconds_of(call))
    if seconds < _ESTIMATE_TIME:
        seconds = time_calls(calls_a_repeat(seconds, _ESTIMATE_TIME))
    return seconds


def estimate_by_device(time_calls: Callable[[int], float], first: float, hopeless: float) -> float:
    """Like ``estimate``, with the device's own clock only.

    The host's clock would include other work of the host. To rule out other work on the device, an
    estimate above ``hopeless`` seconds is repeated once.
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
    """The seconds of a series of repeats, and of further series until one is undisturbed.

    So a short disturbance does not change the median. A program that is much slower than ``best``
    seconds gets one series only.
    """
    seconds = series = repeats()
    for _ in range(most_series - 1):
        if max(series) <= _SPREAD * min(series) or min(series) > _CONTENDER * best:
            break
        series = repeats()
        seconds = seconds + series
    return seconds


def calls_a_repeat(seconds: float, min_repeat_time: float) -> int:
    """The number of calls of ``seconds`` for a repeat of at least ``min_repeat_time`` seconds."""
    return max(1, math.ceil(min_repeat_time / max(seconds, 1e-9)))


def round_seconds(seconds: float, min_repeat_time: float) -> float:
    """How long a round of a play-off takes for a program with calls of ``seconds``."""
    # TVM's timer makes one more call before those that it times.
    return 2 * seconds + min_repeat_time + _TURN


def time_repeats(
    module: Any, arguments: list[Any], calls: int, repeats: int, flush_cache: bool
) -> list[float]:
    """Mean seconds of one call of ``main``, one figure per repeat, by TVM's timer.

    TVM makes one more call before the first repeat. With ``flush_cache`` a repeat is a single call,
    with flushed caches.
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
