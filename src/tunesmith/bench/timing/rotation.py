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

from tunesmith.bench.timing.side_process import PREPARATION_SECONDS, ROUND_SECONDS, Side
from tunesmith.errors import TunesmithError

# A side that is slower in the rotation than alone, or the other way round, by more than this
# factor was disturbed.
DISTURBED = 1.3
ROTATIONS = 3
"""How many rotations there are at most, if in each of them a side is disturbed."""

# Before a turn: the caches' owner changes, and interrupts of the last turn are over.
_PAUSE = 0.005
# Alone a side runs so often before and as often after a rotation: shorter than a third of a second
# the median is often that of a moment in which something else had a core.
_SOLO_ROUNDS = 13


@dataclass(frozen=True)
class Turns:
    """What one side took: ``rounds`` has its seconds a call in each round, ``alone`` its median
    seconds a call while there was no other side at work, before the rounds or after them, whichever
    was the faster one. ``way`` is how its library computed, where it has several ways.
    ``peak_bytes`` is the most memory that its process had used after its first call."""

    alone: float
    rounds: tuple[float, ...]
    way: str | None = None
    peak_bytes: int = 0

    @property
    def seconds(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rounds)

    @property
    def disturbance(self) -> float:
        """The factor between its speeds in turn and alone, whichever is the greater one."""
        return disturbance(self.seconds, self.alone)

    @property
    def disturbed(self) -> bool:
        """Whether it lost its solo speed while taking turns, or had not found it alone."""
        return self.disturbance > DISTURBED


def disturbance(seconds: float, alone: float) -> float:
    """The factor between seconds of a call in turn and alone, at least 1."""
    return max(seconds / alone, alone / seconds)


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
    module: str,
    sides: Mapping[str, Mapping[str, Any]],
    rounds: int = 25,
    *,
    seconds: float = ROUND_SECONDS,
    patience: float = PREPARATION_SECONDS,
    say: Callable[[str], None] = lambda _: None,
) -> Rotation:
    """Time sides in turn, ``rounds`` rounds of about ``seconds`` each, between runs of each alone.

    The process of a side runs the ``module``, which it describes its program to.
    Every second round goes backwards. While a side is disturbed all is done again, up to
    ``ROTATIONS`` times, and the rotation with the fewest such sides counts; of these the one that
    disturbed its worst side least. A side that cannot run, or breaks down, is left out, and the
    reason is told; ``say`` hears who is waited for, while all prepare themselves at once.
    """
    found: list[dict[str, Turns]] = []
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(Side(module, sides[name], patience)) for name in sides}
        running = _Running(started, seconds, say)
        before = running.alone()
        for _ in range(ROTATIONS):
            times = running.rotation(rounds)
            after = running.alone()
            found.append(
                {
                    name: Turns(
                        min(before[name], after[name]),
                        tuple(times[name]),
                        started[name].way,
                        started[name].peak_bytes,
                    )
                    for name in after
                }
            )
            if not any(turns.disturbed for turns in found[-1].values()):
                break
            before = after
    left = [
        {name: turns for name, turns in each.items() if name not in running.failed}
        for each in found
    ]
    return Rotation(min(left, key=_how_disturbed), running.failed)


def _how_disturbed(turns: Mapping[str, Turns]) -> tuple[int, float]:
    """How many sides are, and how much the worst one is: what is least is best."""
    factors = [each.disturbance for each in turns.values()]
    return sum(each.disturbed for each in turns.values()), max(factors, default=1.0)


class _Running:
    """The sides that can run, all of them stopped but the one whose turn it is.

    Of those that ``failed`` it has the reasons, by name; they are closed, and left out.
    """

    def __init__(
        self, started: Mapping[str, Side], seconds: float, say: Callable[[str], None]
    ) -> None:
        self.failed: dict[str, str] = {}
        self._seconds = seconds
        self._sides = dict(started)
        for name, side in started.items():
            say(name)
            try:
                side.ready()
            except TunesmithError as error:
                self._fail(name, error)
            else:
                side.stop()

    def alone(self) -> dict[str, float]:
        """Each by itself, several turns in a row: the median seconds of a call, by name."""
        found = {}
        for name in list(self._sides):
            turns = [self._turn(name) for _ in range(_SOLO_ROUNDS) if name in self._sides]
            if name in self._sides:
                found[name] = statistics.median(turns)
        return found

    def rotation(self, rounds: int) -> dict[str, list[float]]:
        """Seconds of a call in each round, by name."""
        times: dict[str, list[float]] = {name: [] for name in self._sides}
        for index in range(rounds):
            order = list(self._sides)
            for name in order if index % 2 == 0 else reversed(order):
                times[name].append(self._turn(name))
        return times

    def _turn(self, name: str) -> float:
        """Seconds of a call; of no meaning where the side fails, which leaves it out."""
        side = self._sides[name]
        time.sleep(_PAUSE)
        try:
            side.go()
            return side.round(self._seconds)
        except TunesmithError as error:
            self._fail(name, error)
            return math.nan
        finally:
            side.stop()

    def _fail(self, name: str, error: TunesmithError) -> None:
        self.failed[name] = str(error)
        self._sides.pop(name).close()


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
