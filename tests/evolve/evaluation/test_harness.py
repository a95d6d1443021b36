"""Tests, outputs, and how errors are told, worked out by hand."""

from __future__ import annotations

import importlib.util
import linecache
import math
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.harness import (
    CallOnce,
    Tests,
    absolute,
    as_outputs,
    as_test,
    checked_error,
    exact,
    relative,
)


def one(*values: float) -> list[Any]:
    return [np.array(values, np.float32)]


def test_a_relative_error_is_of_the_size_of_what_it_should_be() -> None:
    assert relative(one(1.1, -2.0), one(1.0, -2.0)) == pytest.approx(0.1, rel=1e-5)
    assert relative(one(1.0, -3.0), one(1.0, -2.0)) == 0.5, "a negative golden value counts, too"
    assert relative(one(0.0), one(0.0)) == 0.0
    assert relative(one(1e-9), one(0.0)) == math.inf


def test_an_absolute_error_is_of_no_size() -> None:
    assert absolute(one(1.5, 100.0), one(1.0, 100.25)) == 0.5
    assert absolute([np.array([1 + 1j])], [np.array([1 + 0j])]) == 1.0


@pytest.mark.parametrize("error", [relative, absolute])
@pytest.mark.parametrize(
    "wrong", [one(1.0), [np.array([1.0, 2.0])], one(math.nan, 2.0), one(math.inf, 2.0), []]
)
def test_what_cannot_be_compared_is_infinitely_wrong(error: Any, wrong: Any) -> None:
    assert error(wrong, one(1.0, 2.0)) == math.inf


@pytest.mark.parametrize("error", [relative, absolute])
def test_the_same_nan_and_infinity_are_right(error: Any) -> None:
    assert error(one(math.nan, math.inf), one(math.nan, math.inf)) == 0.0
    assert error(one(math.inf), one(-math.inf)) == math.inf


def test_exact_is_to_the_last_bit() -> None:
    assert exact(one(1.0, math.nan), one(1.0, math.nan)) == 0.0
    assert exact(one(0.0), one(-0.0)) == math.inf
    assert exact([np.int32(1)], [np.int64(1)]) == math.inf  # type: ignore[list-item]


def test_integers_are_compared_without_overflow() -> None:
    assert absolute([np.array([0], np.uint8)], [np.array([255], np.uint8)]) == 255.0
    large = np.array([2**60, 5], np.int64)
    assert absolute([large + np.array([1, 0])], [large]) >= 1.0, (
        "as floating-point numbers they are the same"
    )
    assert relative([large + np.array([1, 0])], [large]) > 0.0
    assert absolute([large], [large.copy()]) == 0.0


def test_a_tuple_is_a_call_whose_arrays_are_outputs() -> None:
    x, y = np.zeros(3), np.ones(2)

    def kernel(first: Any, number: int, second: Any) -> float:
        first += number
        second *= 2
        return 7.0

    test = as_test((x, 5, y))
    for _ in range(2):  # the arguments are as they were
        outputs = as_outputs(test(kernel))
        assert [each.tolist() for each in outputs] == [[5.0] * 3, [2.0] * 2, 7.0]


def test_outputs_may_be_of_many_kinds() -> None:
    assert [each.tolist() for each in as_outputs({"b": 2, "a": 1})] == [1, 2]
    assert [each.tolist() for each in as_outputs((1, [2, 3]))] == [1, [2, 3]]
    assert as_outputs(0.5)[0].shape == ()


def test_tests_that_make_no_sense_are_one_line() -> None:
    with pytest.raises(UsageError, match="there is no test"):
        Tests.of([])
    with pytest.raises(UsageError, match="tuple of arguments, not int"):
        Tests.of([3])
    with pytest.raises(UsageError, match="unknown error 'relativ': did you mean relative"):
        Tests.of([(1,)], error="relativ")
    with pytest.raises(UsageError, match="an error must be a number, not 'much'"):
        checked_error("much")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must be a number, not minus infinity"):
        checked_error(-math.inf)
    assert checked_error(-1.0) == -1.0, "better than the original"
    assert checked_error(math.nan) == math.inf


def test_another_text_of_a_test_is_another_test(tmp_path: Path) -> None:
    place = tmp_path / "harness_of_digests.py"

    def digest(text: str) -> str:
        place.write_text(text)
        spec = importlib.util.spec_from_file_location(place.stem, place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[place.stem] = module
        try:
            spec.loader.exec_module(module)
            linecache.checkcache(str(place))
            return Tests.of([module.test]).digest
        finally:
            del sys.modules[place.stem]

    first = digest("def test(kernel):\n    return kernel(1)\n")
    assert first == digest("def test(kernel):\n    return kernel(1)\n")
    assert first != digest("def test(kernel):\n    return kernel(2) + 1\n")


def test_what_cannot_be_sent_is_one_line() -> None:
    lock = threading.Lock()

    def test(kernel: Any) -> Any:
        with lock:
            return kernel()

    with pytest.raises(UsageError, match="a test cannot be sent to another process"):
        _ = Tests.of([test]).digest


def test_their_digest_is_of_what_they_do() -> None:
    def of(*values: Any, **settings: Any) -> str:
        return Tests.of(values, **settings).digest

    call = (np.arange(3), 1)
    assert of(call) == of((np.arange(3), 1))
    assert of(call) != of((np.arange(3), 2))
    assert of(call) != of(call, heldout=[(np.arange(4), 1)])
    assert of(call) != of(call, error="absolute")
    assert of(call, heldout=[call, call]) != of(call, call, heldout=[call])
    assert of(call) != of((np.asfortranarray(np.arange(3)[None]), 1))
    assert isinstance(Tests.of([call]).search[0], CallOnce)
