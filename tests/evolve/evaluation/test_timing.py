"""Two kernels in turn: what is told of them."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.harness import CallOnce, Test, relative
from tunesmith.evolve.evaluation.timing import GuardedKernel, OutOfBoundsError, Pairs, compare


def doubled(arguments: Sequence[Any]) -> None:
    arguments[0][...] *= 2


def wrong(arguments: Sequence[Any]) -> None:
    arguments[0][...] *= 3


def slow(arguments: Sequence[Any]) -> None:
    time.sleep(0.002)
    arguments[0][...] *= 2


def outside(arguments: Sequence[Any]) -> None:
    array = arguments[0]
    ctypes.memset(array.ctypes.data + array.nbytes, 0, 1)


TEST = CallOnce((np.ones(5),))


def test_a_slower_kernel_has_a_larger_ratio() -> None:
    found = compare(doubled, slow, [TEST], relative, limit=1.0, pairs=Pairs(3, 5, 1.0))
    assert found.error == 0
    assert found.ratio > 2
    assert found.seconds > 0.002


def test_the_error_is_the_largest_of_all_tests() -> None:
    tests: list[Test] = [TEST, lambda kernel: 1.0]
    found = compare(doubled, wrong, tests, relative, limit=1.0, pairs=Pairs(1, 1))
    assert found.error == 0.5
    found = compare(doubled, wrong, tests[::-1], relative, limit=1.0, pairs=Pairs(1, 1))
    assert found.error == 0.5


def test_what_is_too_wrong_in_one_test_is_spared_the_others() -> None:
    def never(_kernel: Any) -> float:
        raise AssertionError

    found = compare(doubled, wrong, [TEST, never], relative, limit=0.1, pairs=Pairs(1, 1))
    assert found.error == 0.5


def test_of_a_single_pair_only_the_time_of_the_processor_counts() -> None:
    """What another process takes from it would be noise."""
    once = compare(doubled, slow, [TEST], relative, limit=1.0, pairs=Pairs(1, 1, 0.0))
    assert once.seconds < 0.002


def test_an_error_may_be_negative() -> None:
    def gain(outputs: Any, golden: Any) -> float:
        return float(golden[0][0] - outputs[0][0])

    assert compare(doubled, wrong, [TEST], gain, limit=0.0, pairs=Pairs(1, 1)).error == -1.0


def test_what_is_too_wrong_is_not_timed_at_length() -> None:
    calls = []

    def counted(arguments: Sequence[Any]) -> None:
        calls.append(1)
        wrong(arguments)

    compare(doubled, counted, [TEST], relative, limit=0.1, pairs=Pairs(50, 50))
    assert len(calls) == 1
    compare(doubled, counted, [TEST], relative, limit=0.9, pairs=Pairs(50, 50, 1.0))
    assert len(calls) == 1 + 51
    compare(doubled, counted, [TEST], relative, limit=0.9, pairs=Pairs(50, 50, 0.0))
    assert len(calls) == 1 + 51 + 1, "it has taken longer than nothing"


def test_calls_count_and_not_what_the_test_does_beside() -> None:
    def test(kernel: Any) -> Any:
        array = np.ones(3)
        for _ in range(4):
            kernel(array)
        time.sleep(0.01)
        return array

    kernel = GuardedKernel(doubled)
    begun = time.perf_counter()
    assert test(kernel).tolist() == [16.0] * 3
    assert 0 < kernel.seconds <= time.perf_counter() - begun - 0.01, "all but the sleep, at most"


def test_writing_beside_an_array_fails() -> None:
    with pytest.raises(OutOfBoundsError, match="wrote beside an array"):
        GuardedKernel(outside)(np.ones(5))


def test_tests_that_never_call_the_kernel() -> None:
    with pytest.raises(UsageError, match="no test calls the kernel"):
        compare(doubled, doubled, [lambda kernel: 1.0], relative, limit=1.0, pairs=Pairs(1, 1))


def test_a_kernel_returns_what_it_returns() -> None:
    assert GuardedKernel(lambda arguments: arguments[0] + 1)(2) == 3
    assert math.isclose(GuardedKernel(lambda arguments: float(arguments[0].sum()))(np.ones(4)), 4.0)
