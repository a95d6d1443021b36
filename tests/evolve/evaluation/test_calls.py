"""Calls of kernels, and of two of them in turn."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.evolve.evaluation.kernels_in_python import bound, doubled, outside, wrong
from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.calls import (
    Bind,
    CallsInTurn,
    GuardedKernel,
    Memory,
    OutOfBoundsError,
    Run,
)


def test_calls_count_and_not_what_the_test_does_beside() -> None:
    def test(kernel: Any) -> Any:
        array = np.ones(3)
        for _ in range(4):
            kernel(array)
        time.sleep(0.01)
        return array

    kernel = GuardedKernel(bound(doubled))
    begun = time.perf_counter()
    assert test(kernel).tolist() == [16.0] * 3
    assert 0 < kernel.seconds <= time.perf_counter() - begun - 0.01, "all but the sleep, at most"


def test_seconds_are_those_that_a_call_tells() -> None:
    def bind(arguments: Sequence[Any]) -> Run:
        return lambda: (arguments[0][0], 0.25)

    kernel = GuardedKernel(bind)
    assert [kernel(np.ones(1)), kernel(np.zeros(1))] == [1.0, 0.0]
    assert (kernel.seconds, kernel.calls) == (0.5, 2)


def test_writing_beside_an_array_fails() -> None:
    with pytest.raises(OutOfBoundsError, match="wrote beside an array"):
        GuardedKernel(bound(outside))(np.ones(5))


def test_the_same_array_twice_is_one_array() -> None:
    def added(arguments: Sequence[Any]) -> None:
        arguments[0][...] += 1
        arguments[1][...] += arguments[0]

    array = np.arange(3.0)
    GuardedKernel(bound(added))(array, array[:])
    assert array.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("other", [slice(1, 4), slice(3, None, -1)])
def test_arrays_that_share_a_part_of_their_memory(other: slice) -> None:
    array = np.arange(4.0)
    with pytest.raises(UsageError, match="two arrays of a call share a part of their memory"):
        GuardedKernel(bound(doubled))(array, array[other])
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_kernel_returns_what_it_returns() -> None:
    assert GuardedKernel(bound(lambda arguments: arguments[0] + 1))(2) == 3
    assert math.isclose(
        GuardedKernel(bound(lambda arguments: float(arguments[0].sum())))(np.ones(4)), 4.0
    )


def taking(*seconds: float) -> Bind:
    """A kernel that tells what its calls take, in this order."""
    left = list(seconds)

    def bind(arguments: Sequence[Any]) -> Run:
        def run() -> tuple[Any, float]:
            doubled(arguments)
            return None, left.pop(0)

        return run

    return bind


@pytest.mark.parametrize("memory", [{}, None])
def test_calls_in_turn_give_what_the_original_gives(memory: Memory | None) -> None:
    order: list[str] = []

    def noted(name: str, gives: Any) -> Bind:
        def call(arguments: Sequence[Any]) -> str:
            order.append(name)
            gives(arguments)
            return name

        return bound(call)

    kernel = GuardedKernel(noted("ours", wrong), memory)
    original = GuardedKernel(noted("its", doubled), memory)
    calls = CallsInTurn(kernel, original)
    array = np.ones(2)
    assert [calls(array, array) for _ in range(3)] == ["its"] * 3
    assert array.tolist() == [8.0, 8.0]
    assert order == ["its", "ours", "ours", "its", "its", "ours"]
    assert (calls.calls, kernel.calls, original.calls) == (3, 3, 3)


@pytest.mark.parametrize(
    ("ours", "original", "ratio"),
    [
        ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], 0.5),
        ([1.0, 90.0, 1.0], [2.0, 2.0, 2.0], 0.5),  # an interruption
        ([1.0, 1.0, 9.0], [2.0, 2.0, 10.0], 0.9),  # where the time goes
        ([1.0, 1.0], [0.0, 2.0], 0.5),
    ],
)
def test_the_ratio_is_that_of_most_of_the_time(
    ours: list[float], original: list[float], ratio: float
) -> None:
    calls = CallsInTurn(GuardedKernel(taking(*ours)), GuardedKernel(taking(*original)))
    for _ in ours:
        calls(np.ones(1))
    assert calls.ratio == pytest.approx(ratio)


def test_a_kernel_that_writes_beside_an_array_in_turn() -> None:
    calls = CallsInTurn(GuardedKernel(bound(outside)), GuardedKernel(bound(doubled)))
    with pytest.raises(OutOfBoundsError):
        calls(np.ones(5))
