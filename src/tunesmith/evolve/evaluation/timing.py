"""Tests of two kernels in turn: how much faster the one is than the other, and how wrong."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.evolve.evaluation.guards import Guarded
from tunesmith.evolve.evaluation.harness import ErrorOf, Test, as_outputs, checked_error

Call = Callable[[Sequence[Any]], Any]
"""A kernel as it is called by the machine's own conventions, which takes all arguments at once."""


class OutOfBoundsError(TunesmithError):
    """A kernel wrote beside its arrays."""


class GuardedKernel:
    """Calls a kernel with copies of its arrays that have guard zones, and adds up the ``seconds``
    that it takes, without the copying, and the ``cpu_seconds``, those of the processor."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._memory: dict[tuple[int, int], Guarded] = {}
        self.seconds = self.cpu_seconds = 0.0

    def reset(self) -> None:
        """Begin to count anew."""
        self.seconds = self.cpu_seconds = 0.0

    def __call__(self, *arguments: Any) -> Any:
        """Raises ``OutOfBoundsError`` if the kernel wrote beside an array."""
        guarded = [
            self._guarded(number, each) if isinstance(each, np.ndarray) else each
            for number, each in enumerate(arguments)
        ]
        cpu_begun = time.process_time()
        begun = time.perf_counter()
        returned = self._call(guarded)
        self.seconds += time.perf_counter() - begun
        self.cpu_seconds += time.process_time() - cpu_begun
        for number, (each, copy) in enumerate(zip(arguments, guarded, strict=True)):
            if isinstance(each, np.ndarray):
                if not self._memory[number, each.nbytes].intact:
                    raise OutOfBoundsError("it wrote beside an array")
                each[...] = copy
        return returned

    def _guarded(self, number: int, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        key = number, array.nbytes
        if key not in self._memory:
            self._memory[key] = Guarded(array.nbytes)
        return self._memory[key].view(array)


@dataclass(frozen=True)
class Pairs:
    """How often tests are repeated: at least so many pairs of runs, and more as long as all of them
    take no more than so many seconds."""

    least: int = 3
    most: int = 300
    seconds: float = 0.03


PAIRS = Pairs()
"""What there is unless it is said."""


@dataclass(frozen=True)
class Compared:
    """See ``Evaluation``."""

    ratio: float
    seconds: float
    error: float
    original_error: float


def compare(
    original: Call,
    variant: Call,
    tests: Sequence[Test],
    error_of: ErrorOf,
    *,
    limit: float,
    pairs: Pairs,
) -> Compared:
    """Run tests of two kernels in turn. Where the error is above the limit, the tests after it are
    left out, and times are of one pair; as they are of tests that take longer than ``pairs`` allow.
    Of one pair times are those of the processor: the median over many pairs can do without what a
    busy machine adds, one pair cannot.

    Raises ``OutOfBoundsError`` if the variant wrote beside an array, and what the tests raise.
    """
    ours, theirs = GuardedKernel(variant), GuardedKernel(original)
    worst, least, times, lasted = -math.inf, -math.inf, [], []
    for test in tests:
        begun = time.perf_counter()
        seconds, outputs = [], []
        for kernel in (theirs, ours):
            kernel.reset()
            outputs.append(as_outputs(test(kernel)))
            seconds.append([kernel.cpu_seconds])
        worst = max(worst, checked_error(error_of(outputs[1], outputs[0])))
        least = max(least, checked_error(error_of(outputs[0], outputs[0])))
        times.append((seconds[1], seconds[0]))
        lasted.append(time.perf_counter() - begun)
        if worst > limit:
            break
    if worst <= limit:
        # The first run of a short test is slower than others: of those it does not count.
        times = [
            first if long > pairs.seconds else _times(test, ours, theirs, pairs)
            for test, first, long in zip(tests, times, lasted, strict=True)
        ]
    before, after = ([statistics.median(sides[side]) for sides in times] for side in (1, 0))
    if not sum(before):
        raise UsageError("no test calls the kernel")
    ratio = sum(_ratio(*sides) * own for sides, own in zip(times, before, strict=True) if own > 0)
    return Compared(ratio / sum(before), sum(after), worst, least)


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))


def _times(
    test: Test, ours: GuardedKernel, theirs: GuardedKernel, pairs: Pairs
) -> tuple[list[float], list[float]]:
    """The seconds of both kernels in each pair of runs; who is first alternates."""
    found: tuple[list[float], list[float]] = ([], [])
    begun = time.perf_counter()
    while len(found[0]) < pairs.most:
        for side in (0, 1) if len(found[0]) % 2 else (1, 0):
            kernel = (ours, theirs)[side]
            kernel.reset()
            test(kernel)
            found[side].append(kernel.seconds)
        if len(found[0]) >= pairs.least and time.perf_counter() - begun > pairs.seconds:
            break
    return found
