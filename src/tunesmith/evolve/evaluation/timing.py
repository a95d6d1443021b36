"""Tests of two kernels: how wrong the one is, and how much faster than the other."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.evolve.evaluation.calls import Bind, CallsInTurn, GuardedKernel, Memory
from tunesmith.evolve.evaluation.harness import (
    ErrorOf,
    Outputs,
    Test,
    Tests,
    as_outputs,
    checked_error,
)

REVISION = 3
"""Counts the ways to time: ratios by another one are not compared with these."""

# In a long test with so many calls these are timed in turn, not the runs of the test.
_MANY_CALLS = 8

# What is so much slower after so many pairs of runs is of no use: nothing better will come of more.
_FIRST_LOOK, _CLEARLY_SLOWER = 10, 1.25


class TamperedError(TunesmithError):
    """A kernel changed what a test goes on with."""


@dataclass(frozen=True)
class Pairs:
    """How often tests are repeated: ``least`` pairs of runs, and more, up to ``most``, as long as
    all of them take no more than ``seconds``; less of these go to a test that matters less, as the
    original is done with it sooner than with others. A test that takes longer than that has one
    pair, or pairs of calls if it has many. What is clearly slower is not timed to the end."""

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
    in memory. Its last run is checked as its first one is: what is right but once is wrong. A long
    test with many calls has no such run: its second one goes on with what the original gives, and
    times each call in turn. Where the error is above the limit the tests after it are left out, as
    is the timing; the ratio is infinite then, and the error, unless it was the last test. Raises
    ``OutOfBoundsError`` if the variant wrote beside an array, ``TamperedError`` if the original
    does not give what it gave before, and what the tests raise.
    """
    memory: Memory = {}
    ours, theirs = GuardedKernel(variant, memory), GuardedKernel(original, memory)
    own = max(golden.errors)
    worst, firsts = -math.inf, []
    for number, (test, right) in enumerate(zip(tests, golden.outputs, strict=True), 1):
        ours.reset()
        begun = time.perf_counter()
        outputs = as_outputs(test(ours))
        firsts.append(_First(ours.seconds, ours.calls, time.perf_counter() - begun))
        worst = max(worst, checked_error(error_of(outputs, right)))
        if worst > limit:
            spent = sum(first.seconds for first in firsts)
            return Compared(math.inf, spent, worst if number == len(tests) else math.inf, own)
    timed, most = [], max(golden.seconds)
    for test, first, right, error, takes in zip(
        tests, firsts, golden.outputs, golden.errors, golden.seconds, strict=True
    ):
        theirs.reset()
        long = first.lasted > pairs.seconds
        in_turn = long and first.calls >= _MANY_CALLS
        kernel = CallsInTurn(ours, theirs) if in_turn else theirs
        again = as_outputs(test(kernel))
        if checked_error(error_of(again, right)) != error:
            raise TamperedError("after it the original gives something else: it changed the test")
        if isinstance(kernel, CallsInTurn):
            # What needs more calls than the original is slower by as much.
            timed.append(_Timed(kernel.ratio * first.calls / kernel.calls, theirs.seconds))
            continue
        own_pairs = replace(pairs, seconds=pairs.seconds * takes / most)
        found, last = _times(test, ours, theirs, own_pairs, long=long)
        timed.append(_Timed(_ratio(*found), statistics.median(found[1])))
        worst = max(worst, checked_error(error_of(last, right)))
    before = sum(each.original for each in timed)
    after = sum(each.ratio * each.original for each in timed)
    if worst > limit:
        return Compared(math.inf, after, math.inf, own)
    return Compared(after / before, after, worst, own)


@dataclass(frozen=True)
class _First:
    """The first run of a test of a variant: the calls, their seconds, and those of the test."""

    seconds: float
    calls: int
    lasted: float


@dataclass(frozen=True)
class _Timed:
    """How a variant compares in a test: its time as a share of the original's, which is in
    seconds."""

    ratio: float
    original: float


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """In the median over pairs; a test that does not call the kernel is as fast as the other."""
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(mine / other if other else 1.0 for mine, other in pairs)


Times = tuple[list[float], list[float]]


def _times(
    test: Test, ours: GuardedKernel, theirs: GuardedKernel, pairs: Pairs, *, long: bool
) -> tuple[Times, Outputs]:
    """The seconds of both kernels in each pair of runs, of which a ``long`` test has one, and what
    the last one of ``ours`` gave; each of them has run once before."""
    last: Any = None
    if long:
        ours.reset()
        last = test(ours)
        theirs.reset()
        test(theirs)
        return ([ours.seconds], [theirs.seconds]), as_outputs(last)
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
