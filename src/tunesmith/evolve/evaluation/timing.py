"""Tests of two kernels: how wrong the one is, and how much faster than the other."""

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
from tunesmith.evolve.evaluation.harness import (
    ErrorOf,
    Outputs,
    Test,
    Tests,
    as_outputs,
    checked_error,
)

Run = Callable[[], tuple[Any, float]]
"""A call of a kernel: what it returned, and its seconds."""

Bind = Callable[[Sequence[Any]], Run]
"""A kernel. It is given all arguments of a call, and makes of them what the machine's own
conventions want. Of a small kernel that takes longer than the call, so it is not timed."""


def clocked(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returned, and its seconds by Python's clocks: the time of the processor where
    that is less than what passed, as after an interruption."""
    cpu_begun = time.process_time()
    begun = time.perf_counter()
    returned = call()
    passed = time.perf_counter() - begun
    return returned, min(passed, time.process_time() - cpu_begun)


REVISION = 2
"""Counts the ways to time: ratios by another one are not compared with these."""

# A test with so many calls needs no run to warm up: the first call is a small part of it.
_MANY_CALLS = 8

# What is so much slower after so many pairs of runs is of no use: nothing better will come of more.
_FIRST_LOOK, _CLEARLY_SLOWER = 10, 1.25


class OutOfBoundsError(TunesmithError):
    """A kernel wrote beside its arrays."""


class TamperedError(TunesmithError):
    """A kernel changed what a test goes on with."""


# An array that a kernel is given, the memory of its copy, and the copy.
_Used = tuple[np.ndarray[Any, Any], Guarded, np.ndarray[Any, Any]]


class GuardedKernel:
    """Calls a kernel with copies of its arrays that have guard zones. It counts the ``calls``, and
    adds up the ``seconds`` that they take, without what is done to their arguments."""

    def __init__(self, bind: Bind) -> None:
        self._bind = bind
        self._memory: dict[tuple[int, int], Guarded] = {}
        self.reset()

    def reset(self) -> None:
        """Begin to count anew."""
        self.seconds = 0.0
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        """Raises ``OutOfBoundsError`` if the kernel wrote beside an array, and ``UsageError`` for
        arrays that share a part of their memory; the same one may be given several times."""
        copies: list[Any] = list(arguments)
        used: list[_Used] = []
        for number, array in enumerate(arguments):
            if isinstance(array, np.ndarray):
                guarded = self._memory_for(number, array, used)
                copies[number] = guarded.view(array)
                used.append((array, guarded, copies[number]))
        returned, seconds = self._bind(copies)()
        self.seconds += seconds
        self.calls += 1
        if not all(guarded.intact for _, guarded, _ in used):
            raise OutOfBoundsError("it wrote beside an array")
        for array, _, copy in used:
            array[...] = copy
        return returned

    def _memory_for(
        self, number: int, array: np.ndarray[Any, Any], used: Sequence[_Used]
    ) -> Guarded:
        """Where the copy of an argument is: where that of the same array is, if it came before."""
        for other, guarded, _ in used:
            if np.shares_memory(array, other):
                if array.__array_interface__ != other.__array_interface__:
                    raise UsageError(
                        "two arrays of a call share a part of their memory: give it copies"
                    )
                return guarded
        key = number, array.nbytes
        if key not in self._memory:
            self._memory[key] = Guarded(array.nbytes)
        return self._memory[key]


@dataclass(frozen=True)
class Pairs:
    """How often tests are repeated: at least so many pairs of runs, and more as long as all of them
    take no more than so many seconds. A test that takes longer than that has one pair. What
    is clearly slower is not timed to the end."""

    least: int = 3
    most: int = 300
    seconds: float = 0.03


PAIRS = Pairs()
"""What there is unless it is said."""


@dataclass(frozen=True)
class Golden:
    """What tests of the original gave: the ``outputs`` of each, their own ``errors``, and the
    ``seconds`` of its calls."""

    outputs: Sequence[Outputs]
    errors: Sequence[float]
    seconds: Sequence[float]


@dataclass(frozen=True)
class Goldens:
    """Those of the search, and those of the tests that it never sees."""

    search: Golden
    heldout: Golden


def goldens_of(bind: Bind, tests: Tests) -> Goldens:
    """What the tests of the original give, in a process where nothing else has run.

    Raises ``UsageError`` for tests that say nothing, or do not repeat, and what they raise.
    """
    search = golden_of(bind, tests.search, tests.error_of)
    if tests.heldout is tests.search:  # where none are held out
        return Goldens(search, search)
    return Goldens(search, golden_of(bind, tests.heldout, tests.error_of))


def golden_of(bind: Bind, tests: Sequence[Test], error_of: ErrorOf) -> Golden:
    """What some tests give: see ``goldens_of``."""
    kernel = GuardedKernel(bind)
    outputs, errors, seconds = [], [], []
    for test in tests:
        kernel.reset()
        first, second = _checked(test(kernel)), _checked(test(kernel))
        error, again = (checked_error(error_of(each, first)) for each in (first, second))
        if not math.isfinite(error):
            raise UsageError("the error of the original itself is no number")
        if error != again:
            raise UsageError(
                f"two runs of the original differ by {abs(again - error):.3g}: make the tests "
                "repeat exactly, with a fixed seed"
            )
        outputs.append(first)
        errors.append(error)
        seconds.append(kernel.seconds / 2)
    if not any(seconds):
        raise UsageError("no test calls the kernel")
    return Golden(outputs, errors, seconds)


def _checked(value: Any) -> list[Any]:
    outputs = as_outputs(value)
    if not outputs or any(each.dtype == object for each in outputs):
        raise UsageError("a test must return what is compared: arrays or numbers")
    return outputs


@dataclass(frozen=True)
class Compared:
    """See ``Evaluation``."""

    ratio: float
    seconds: float
    error: float
    original_error: float


def compare(
    original: Bind,
    variant: Bind,
    tests: Sequence[Test],
    error_of: ErrorOf,
    golden: Golden,
    *,
    limit: float,
    pairs: Pairs,
) -> Compared:
    """How wrong a variant is by the ``golden`` outputs, and the ratio of its time to the original's
    in runs of both in turn.

    The variant is the first to run in this process, so that it finds nothing that the original left
    in memory. Its last run is checked as its first one is: what is right but once is wrong. Where
    its error is above the limit the tests after it are left out, as is the timing; the ratio is
    infinite then, and the error, unless it was the last test. Raises ``OutOfBoundsError`` if the
    variant wrote beside an array, ``TamperedError`` if the original does not give what it gave
    before, and what the tests raise.
    """
    ours, theirs = GuardedKernel(variant), GuardedKernel(original)
    own = max(golden.errors)
    worst, firsts = -math.inf, []
    for number, (test, right) in enumerate(zip(tests, golden.outputs, strict=True), 1):
        ours.reset()
        begun = time.perf_counter()
        outputs = as_outputs(test(ours))
        firsts.append((ours.seconds, ours.calls, time.perf_counter() - begun))
        worst = max(worst, checked_error(error_of(outputs, right)))
        if worst > limit:
            spent = sum(first[0] for first in firsts)
            return Compared(math.inf, spent, worst if number == len(tests) else math.inf, own)
    times = []
    for number, (test, first) in enumerate(zip(tests, firsts, strict=True)):
        theirs.reset()
        again = as_outputs(test(theirs))
        if checked_error(error_of(again, golden.outputs[number])) != golden.errors[number]:
            raise TamperedError("after it the original gives something else: it changed the test")
        found, last = _times(test, ours, theirs, first, pairs)
        times.append(found)
        if last is not None:
            worst = max(worst, checked_error(error_of(last, golden.outputs[number])))
    if worst > limit:
        return Compared(math.inf, sum(sum(found[0]) for found in times), math.inf, own)
    before, after = ([statistics.median(sides[side]) for sides in times] for side in (1, 0))
    ratio = sum(
        _ratio(*sides) * own_ for sides, own_ in zip(times, before, strict=True) if own_ > 0
    )
    return Compared(ratio / sum(before), sum(after), worst, own)


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))


Times = tuple[list[float], list[float]]


def _times(
    test: Test,
    ours: GuardedKernel,
    theirs: GuardedKernel,
    first: tuple[float, int, float],
    pairs: Pairs,
) -> tuple[Times, Outputs | None]:
    """The seconds of both kernels in each pair of runs, and what the last one of ``ours`` gave,
    None where there was no other; each of them has run once before."""
    seconds, calls, lasted = first
    last: Any = None
    if lasted > pairs.seconds:
        if calls < _MANY_CALLS:
            ours.reset()
            last = test(ours)
            theirs.reset()
            test(theirs)
            seconds = ours.seconds
        return ([seconds], [theirs.seconds]), None if last is None else as_outputs(last)
    found: Times = ([], [])
    begun = time.perf_counter()
    while len(found[0]) < pairs.most:
        # Who is first alternates.
        for side in (0, 1) if len(found[0]) % 2 else (1, 0):
            kernel = (ours, theirs)[side]
            kernel.reset()
            returned = test(kernel)
            found[side].append(kernel.seconds)
            last = last if side else returned
        if len(found[0]) >= pairs.least and time.perf_counter() - begun > pairs.seconds:
            break
        if len(found[0]) == max(_FIRST_LOOK, pairs.least) and _ratio(*found) > _CLEARLY_SLOWER:
            break
    return found, as_outputs(last)
