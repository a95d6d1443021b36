"""Any number of programs that take turns, each in its own process: what the comparisons rest on.

Thread pools that spin in one process slow down the other ones', and a shared machine drifts by a
factor of two within minutes: so the sides live apart, all but one are stopped, they take turns in
short rounds, and only ratios within a round count.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.side_process import ROUND_SECONDS, Side
from tunesmith.errors import TunesmithError

# A side that is slower in the rotation than alone, or the other way round, by more than this
# factor was disturbed.
DISTURBED = 1.3
# Before a turn: the caches' owner changes, and interrupts of the last turn are over.
_PAUSE = 0.005
_SOLO_ROUNDS = 5


@dataclass(frozen=True)
class Turns:
    """What one side took: ``rounds`` has its seconds a call in each round, ``alone`` its median
    seconds a call while there was no other side at work."""

    alone: float
    rounds: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rounds)

    @property
    def disturbed(self) -> bool:
        """Whether it lost its solo speed while taking turns, or had not found it alone."""
        return not 1 / DISTURBED <= self.seconds / self.alone <= DISTURBED


@dataclass(frozen=True)
class Ratio:
    """The median of ratios with the bounds of its 95 % interval."""

    ratio: float
    low: float
    high: float


def ratio_of(other: Turns, ours: Turns) -> Ratio:
    """How many times as fast ours is: the other's time over ours, round by round."""
    ratios = [there / here for here, there in zip(ours.rounds, other.rounds, strict=True)]
    low, high = median_interval(ratios)
    return Ratio(statistics.median(ratios), low, high)


@dataclass(frozen=True)
class Rotation:
    """The sides that ran, by name, and why others did not."""

    turns: Mapping[str, Turns]
    failed: Mapping[str, str]


def rotate(
    sides: Mapping[str, Mapping[str, Any]],
    rounds: int = 25,
    *,
    seconds: float = ROUND_SECONDS,
    say: Callable[[str], None] = lambda _: None,
) -> Rotation:
    """Time sides in turn, ``rounds`` rounds of about ``seconds`` each, after a run of each alone.

    Every second round goes backwards. A side that cannot run, or breaks down, is left out, and the
    reason is told; ``say`` hears who is waited for, while all prepare themselves at once.
    """
    failed: dict[str, str] = {}
    alone: dict[str, float] = {}
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(Side(sides[name])) for name in sides}
        running: dict[str, Side] = {}
        for name, side in started.items():
            say(name)
            try:
                side.ready()
            except TunesmithError as error:
                failed[name] = str(error)
                side.close()
                continue
            side.stop()
            running[name] = side
        for name in list(running):
            try:
                solo = [_turn(running[name], seconds) for _ in range(_SOLO_ROUNDS)]
            except TunesmithError as error:
                failed[name] = str(error)
                running.pop(name).close()
                continue
            alone[name] = statistics.median(solo)
        times: dict[str, list[float]] = {name: [] for name in running}
        for index in range(rounds):
            order = list(running)
            for name in order if index % 2 == 0 else reversed(order):
                try:
                    times[name].append(_turn(running[name], seconds))
                except TunesmithError as error:
                    failed[name] = str(error)
                    running.pop(name).close()
    turns = {name: Turns(alone[name], tuple(times[name])) for name in running}
    return Rotation(turns, failed)


def _turn(side: Side, seconds: float) -> float:
    time.sleep(_PAUSE)
    side.go()
    try:
        return side.round(seconds)
    finally:
        side.stop()


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, from the order of the values alone.

    With n values it lies between the k-th smallest and the k-th largest, k the largest number for
    which a fair coin shows fewer than k heads in n throws with probability at most 2.5 %.
    """
    ordered, n = sorted(values), len(values)
    tail, k = 0.0, 0
    while tail + math.comb(n, k) / 2**n <= 0.025:
        tail += math.comb(n, k) / 2**n
        k += 1
    k = max(1, k)
    return ordered[k - 1], ordered[n - k]
