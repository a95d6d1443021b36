"""Comparing an output with the reference."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tunesmith.measure.trial import verify
from tunesmith.measure.trial.verify import find_mismatch, poison_like

Array = npt.NDArray[Any]

FLOATS = hnp.arrays(
    np.float32,
    hnp.array_shapes(max_dims=3, max_side=5),
    elements=st.floats(-1e6, 1e6, width=32),
)
TYPES = ("float16", "float32", "float64", "int8", "int32", "uint8")


def _array(*values: float, dtype: Any = "float32") -> Array:
    return np.array(values, dtype)


# None is finer than what 64 bits can tell apart in numbers of that size.
TOLERANCES = st.just(0.0) | st.floats(1e-6, 1e-2)


@given(FLOATS, TOLERANCES, TOLERANCES)
def test_what_is_within_the_tolerance_is_right(
    reference: Array, relative: float, absolute: float
) -> None:
    exact = reference.astype(np.float64)
    bound = absolute + relative * np.abs(exact)
    assert find_mismatch(exact + 0.99 * bound, exact, relative, absolute) is None
    assert find_mismatch(exact - 0.99 * bound, exact, relative, absolute) is None


@given(FLOATS, st.floats(1e-3, 1e-1), st.data())
def test_one_element_beyond_the_tolerance_is_found(
    reference: Array, tolerance: float, data: st.DataObject
) -> None:
    exact = reference.astype(np.float64)
    place = data.draw(st.integers(0, exact.size - 1))
    output = exact.copy()
    output.flat[place] += 1.01 * tolerance * (1 + abs(output.flat[place]))
    message = find_mismatch(output, exact, tolerance, tolerance)
    index = tuple(int(i) for i in np.unravel_index(place, exact.shape))
    assert message is not None
    assert message.startswith(f"1 of {exact.size} elements wrong, the largest error ")
    assert message.endswith(f"at {index}")


def test_the_bound_of_a_negative_element_is_that_of_its_magnitude() -> None:
    reference = _array(-100.0, dtype="float64")
    assert find_mismatch(_array(-100.9, dtype="float64"), reference, 0.01, 0.0) is None
    assert find_mismatch(_array(-101.1, dtype="float64"), reference, 0.01, 0.0) is not None
    assert find_mismatch(-reference, reference, 0.01, 0.0) is not None


def test_nan_is_wrong_and_counted() -> None:
    message = find_mismatch(_array(1, math.nan, 5, 4), _array(1, 2, 3, 4), 1e-3, 1e-3)
    assert message == (
        "2 of 4 elements wrong, 1 of them NaN or never written, the largest error 2 at (2,)"
    )


def test_an_output_of_nothing_but_nan() -> None:
    message = find_mismatch(_array(math.nan, math.nan), _array(1, 2), 1.0, 1.0)
    assert message == "2 of 2 elements wrong, 2 of them NaN or never written"


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_infinities(infinite: float) -> None:
    assert find_mismatch(_array(infinite), _array(infinite), 1e-3, 1e-3) is None
    assert find_mismatch(_array(-infinite), _array(infinite), 1e-3, 1e-3) is not None
    assert find_mismatch(_array(infinite), _array(1.0), 1e-3, 1e-3) is not None
    # The bound of an infinite reference would be infinite, and accept anything.
    assert find_mismatch(_array(1.0), _array(infinite), 1e-3, 1e-3) is not None
    assert find_mismatch(_array(math.nan), _array(infinite), 1e-3, 1e-3) is not None


def test_nan_is_right_where_the_reference_is_nan() -> None:
    assert find_mismatch(_array(math.nan, 1), _array(math.nan, 1), 0.0, 0.0) is None
    assert find_mismatch(_array(1.0, 1), _array(math.nan, 1), 1e-3, 1e-3) is not None


def test_shapes_must_agree() -> None:
    message = find_mismatch(np.zeros((2, 3)), np.zeros((3, 2)), 1.0, 1.0)
    assert message == "the output has shape (2, 3) instead of (3, 2)"


def test_integers_are_compared_exactly() -> None:
    reference = _array(2**31 - 1, -(2**31), 7, dtype="int32")
    assert find_mismatch(reference.copy(), reference, 0.0, 0.0) is None
    wrong = _array(2**31 - 2, -(2**31), 7, dtype="int32")
    assert find_mismatch(wrong, reference, 0.0, 0.0) == (
        "1 of 3 elements wrong, the largest error 1 at (0,)"
    )
    # The difference does not fit into 32 bits.
    assert find_mismatch(np.invert(reference), reference, 0.0, 0.0) == (
        "3 of 3 elements wrong, the largest error 4.29e+09 at (0,)"
    )


def test_large_outputs_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_BLOCK", 7)
    reference = np.arange(60, dtype=np.float32).reshape(4, 15)
    output = reference.copy()
    output[0, 1] += 1
    output[3, 14] += 3
    output[2, 2] = math.nan
    assert find_mismatch(output, reference, 0.0, 1e-3) == (
        "3 of 60 elements wrong, 1 of them NaN or never written, the largest error 3 at (3, 14)"
    )


@pytest.mark.parametrize("dtype", [*TYPES, ml_dtypes.bfloat16])
def test_poison_is_wrong_in_every_element(dtype: Any) -> None:
    reference = np.array([[0, 1, 2], [100, 127, 3]]).astype(dtype)
    poison = poison_like(reference)
    assert poison.dtype == reference.dtype
    message = find_mismatch(poison, reference, 1e-3, 1e-3)
    assert message is not None and message.startswith("6 of 6 elements wrong")
    assert find_mismatch(reference, reference, 0.0, 0.0) is None
