"""Two kernels in turn: what is told of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.evolve.evaluation.kernels_in_python import Function, bound, doubled, slow, wrong
from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.harness import CallOnce, ErrorOf, Test, absolute, relative
from tunesmith.evolve.evaluation.timing import (
    Compared,
    Pairs,
    TamperedError,
    compare,
    golden_of,
)

TEST = CallOnce((np.ones(5),))


def compared(
    variant: Function, *tests: Test, error_of: ErrorOf = relative, **settings: Any
) -> Compared:
    """With the kernel that doubles as the original."""
    golden = golden_of(bound(doubled), tests, error_of)
    return compare(
        bound(doubled), bound(variant), tests, error_of, golden, **{"limit": 1.0, **settings}
    )


def test_a_slower_kernel_has_a_larger_ratio() -> None:
    found = compared(slow, TEST, pairs=Pairs(3, 5, 1.0))
    assert found.error == 0
    assert found.ratio > 2
    assert found.seconds > 0.002


def test_the_error_is_the_largest_of_all_tests() -> None:
    def always_one(kernel: Any) -> float:
        kernel(np.ones(1))
        return 1.0

    assert compared(wrong, TEST, always_one, pairs=Pairs(1, 1)).error == 0.5
    assert compared(wrong, always_one, TEST, pairs=Pairs(1, 1)).error == 0.5


def test_what_is_too_wrong_in_one_test_is_spared_the_others() -> None:
    ran = []

    def second(kernel: Any) -> Any:
        ran.append(kernel)
        return TEST(kernel)

    found = compared(wrong, TEST, second, limit=0.1, pairs=Pairs(1, 1))
    assert found.error == math.inf, "of the second nothing is known"
    assert len(ran) == 2, "of the original alone"


def test_what_passes_while_others_have_the_processor_does_not_count() -> None:
    def sleeps(arguments: Sequence[Any]) -> None:
        time.sleep(0.5)
        doubled(arguments)

    once = compared(sleeps, TEST, pairs=Pairs(1, 1, 0.0))
    assert once.seconds < 0.25, "it slept for twice as long, and that does not count"


def test_what_is_clearly_slower_is_not_timed_to_the_end() -> None:
    calls: list[str] = []

    def counted(kernel: Function) -> Function:
        def call(arguments: Sequence[Any]) -> None:
            calls.append("")
            kernel(arguments)

        return call

    compared(counted(slow), TEST, pairs=Pairs(3, 40, 60.0))
    assert len(calls) == 1 + 10
    calls.clear()
    compared(counted(slow), TEST, pairs=Pairs(15, 40, 60.0))
    assert len(calls) == 1 + 15, "as many as are wanted at least"
    calls.clear()
    golden = golden_of(bound(slow), [TEST], relative)
    fast = counted(doubled)
    compare(bound(slow), bound(fast), [TEST], relative, golden, limit=1.0, pairs=Pairs(3, 40, 60.0))
    assert len(calls) == 1 + 40


def test_a_test_that_matters_less_is_timed_less() -> None:
    small: list[str] = []

    def call(arguments: Sequence[Any]) -> None:
        if arguments[0].size > 1:
            slow(arguments)
        else:
            small.append("")
            doubled(arguments)

    tests = [TEST, CallOnce((np.ones(1),))]
    golden = golden_of(bound(call), tests, relative)
    small.clear()
    pairs = Pairs(3, 2000, 0.5)
    compare(bound(doubled), bound(call), tests, relative, golden, limit=1.0, pairs=pairs)
    assert 1 + 3 <= len(small) < 500, "in all of the seconds there are 2000"


def test_an_error_may_be_negative() -> None:
    def gain(outputs: Any, golden: Any) -> float:
        return float(golden[0][0] - outputs[0][0])

    found = compared(wrong, TEST, error_of=gain, limit=0.0, pairs=Pairs(1, 1))
    assert (found.error, found.original_error) == (-1.0, 0.0)


def test_an_error_may_look_at_outputs_alone() -> None:
    def size(outputs: Any, _golden: Any) -> float:
        return float(outputs[0][0])

    found = compared(wrong, TEST, error_of=size, limit=9.0, pairs=Pairs(1, 1))
    assert (found.error, found.original_error) == (3.0, 2.0)


def test_what_is_too_wrong_is_not_timed_at_length() -> None:
    calls = []

    def counted(arguments: Sequence[Any]) -> None:
        calls.append(1)
        wrong(arguments)

    compared(counted, TEST, limit=0.1, pairs=Pairs(50, 50))
    assert len(calls) == 1
    compared(counted, TEST, limit=0.9, pairs=Pairs(50, 50, 1.0))
    assert len(calls) == 1 + 51
    compared(counted, TEST, limit=0.9, pairs=Pairs(50, 50, 0.0))
    assert len(calls) == 1 + 51 + 2, "it has taken longer than nothing"


def ten_times(kernel: Any) -> Any:
    array = np.ones(3)
    for _ in range(10):
        kernel(array)
    return array


def test_calls_of_a_long_test_with_many_are_in_turn() -> None:
    calls = []

    def counted(arguments: Sequence[Any]) -> None:
        calls.append(1)
        slow(arguments)

    found = compared(counted, ten_times, pairs=Pairs(50, 50, 0.0))
    assert len(calls) == 10 + 10
    assert found.ratio > 2


def test_more_calls_than_the_original_needs_are_slower() -> None:
    """The test calls the kernel until the array is large enough."""

    def until(kernel: Any) -> float:
        array, calls = np.ones(3), 0
        while array[0] < 2**10:
            kernel(array)
            calls += 1
        return float(array[0] >= 2**10)

    def growing(factor: float) -> Function:
        def call(arguments: Sequence[Any]) -> None:
            slow(arguments)
            arguments[0][...] *= factor / 2.0

        return call

    golden = golden_of(bound(growing(2.0)), [until], relative)
    original, often = bound(growing(2.0)), bound(growing(2**0.25))
    found = compare(original, often, [until], relative, golden, limit=0.0, pairs=Pairs(1, 1, 0.0))
    assert found.ratio == pytest.approx(4.0, rel=0.3)


def test_a_variant_of_many_calls_that_changes_the_test_is_found_out() -> None:
    shared = np.ones(3)

    def test(kernel: Any) -> Any:
        out = np.zeros(3)
        for _ in range(10):
            kernel(shared, out)
        return out

    def added(arguments: Sequence[Any]) -> None:
        arguments[1][...] += arguments[0]

    def spoils(arguments: Sequence[Any]) -> None:
        added(arguments)
        arguments[0][...] = 1.0 + (arguments[1][0] == 10)

    golden = golden_of(bound(added), [test], relative)
    with pytest.raises(TamperedError, match="it changed the test"):
        compare(
            bound(added), bound(spoils), [test], relative, golden, limit=0.0, pairs=Pairs(1, 1, 0.0)
        )


def test_the_original_is_no_slower_for_being_first() -> None:
    """Memory that is used for the first time is slow: it must not make a gain of the same code."""
    memory: dict[str, Any] = {}

    def scratch(name: str) -> Function:
        def call(arguments: Sequence[Any]) -> None:
            kept = memory.setdefault(name, np.empty(4_000_000))
            kept[...] = arguments[0][0]
            arguments[0][...] = kept[0] * 2

        return call

    golden = golden_of(bound(doubled), [TEST], relative)
    ratios = []
    for _ in range(5):
        memory.clear()
        found = compare(
            bound(scratch("original")),
            bound(scratch("variant")),
            [TEST],
            relative,
            golden,
            limit=0.0,
            pairs=Pairs(1, 1, 0.0),
        )
        ratios.append(found.ratio)
    assert 0.5 < statistics.median(ratios) < 2


def test_a_variant_finds_nothing_that_the_original_left() -> None:
    left: list[float] = []

    def original(arguments: Sequence[Any]) -> None:
        left[:] = [7.0]
        arguments[0][...] = left[0]

    def lazy(arguments: Sequence[Any]) -> None:
        arguments[0][...] = left[0] if left else 0.0

    golden = golden_of(bound(original), [TEST], relative)
    left.clear()  # as in another process
    found = compare(
        bound(original), bound(lazy), [TEST], relative, golden, limit=1.0, pairs=Pairs(1, 1)
    )
    assert found.error == 1.0


def test_a_variant_that_changes_the_test_is_found_out() -> None:
    shared = np.ones(5)

    def test(kernel: Any) -> Any:
        out = np.zeros(5)
        kernel(shared, out)
        return out

    def copies(arguments: Sequence[Any]) -> None:
        arguments[1][...] = arguments[0]

    def spoils(arguments: Sequence[Any]) -> None:
        copies(arguments)
        arguments[0][...] = 0.0

    golden = golden_of(bound(copies), [test], relative)
    with pytest.raises(TamperedError, match="it changed the test"):
        compare(
            bound(copies), bound(spoils), [test], relative, golden, limit=0.0, pairs=Pairs(1, 1)
        )


def test_tests_of_the_original_that_say_nothing() -> None:
    def silent(kernel: Any) -> None:
        kernel(np.ones(1))

    def empty(kernel: Any) -> list[Any]:
        kernel(np.ones(1))
        return []

    for test in (silent, empty):
        with pytest.raises(UsageError, match="a test must return what is compared"):
            golden_of(bound(doubled), [test], relative)
    with pytest.raises(UsageError, match="the error of the original itself is no number"):
        golden_of(bound(doubled), [TEST], lambda *_: math.nan)
    counter = iter(range(10))

    def unsteady(kernel: Any) -> float:
        kernel(np.ones(1))
        return float(next(counter))

    with pytest.raises(UsageError, match="two runs of the original differ by 1: make the tests"):
        golden_of(bound(doubled), [unsteady], absolute)


def test_tests_that_never_call_the_kernel() -> None:
    with pytest.raises(UsageError, match="no test calls the kernel"):
        golden_of(bound(doubled), [lambda kernel: 1.0], relative)


@pytest.mark.parametrize("pairs", [Pairs(3, 3, 1.0), Pairs(1, 1, 0.0)])
def test_what_is_right_but_once_is_wrong(pairs: Pairs) -> None:
    calls = []

    def once(arguments: Sequence[Any]) -> None:
        calls.append(1)
        (doubled if len(calls) == 1 else wrong)(arguments)

    found = compared(once, TEST, limit=0.1, pairs=pairs)
    assert (found.error, found.ratio) == (math.inf, math.inf)
    calls.clear()
    assert compared(once, TEST, limit=0.9, pairs=pairs).error == pytest.approx(0.5)


def test_what_is_not_timed_has_no_ratio() -> None:
    assert compared(wrong, TEST, limit=0.1, pairs=Pairs(1, 1)).ratio == math.inf
