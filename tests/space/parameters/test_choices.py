"""Ordinals and categoricals: what is adjacent, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.errors import SpaceError
from tunesmith.space import Categorical, Ordinal


def test_an_ordinal_is_a_line_in_ascending_order() -> None:
    unroll = Ordinal("unroll", [512, 0, 1500])
    assert unroll.values == (0, 512, 1500)
    assert unroll.neighbours(0) == [512]
    assert unroll.neighbours(512) == [0, 1500]
    assert unroll.distance(0, 1500) == 2
    assert unroll.encode(512) == (512.0,)


def test_all_values_of_a_categorical_are_adjacent() -> None:
    layout = Categorical("layout", ["b", "a", "c"])
    assert layout.values == ("b", "a", "c")
    assert set(layout.neighbours("a")) == {"b", "c"}
    assert layout.distance("b", "c") == 1
    assert layout.encode("a") == (0.0, 1.0, 0.0)


def test_numbers_that_are_equal_but_written_otherwise_are_other_values() -> None:
    unroll = Ordinal("unroll", [0, 1, 2])
    assert unroll.contains(1)
    assert not unroll.contains(1.0)
    assert not unroll.contains(True)
    assert not Categorical("pair", [(1, 2)]).contains((1.0, 2))


def test_arrays_give_plain_values() -> None:
    unroll = Ordinal("unroll", np.array([2, 1]))  # type: ignore[arg-type]
    assert [type(value) for value in unroll.values] == [int, int]
    assert Categorical("x", [[1, 2], np.float32(0.5)]).values == ((1, 2), 0.5)  # type: ignore[list-item]


@pytest.mark.parametrize(
    "values", [[], None, "abc", [1, 1], [1, 1.0], [True], ["a"], [(1,)], [float("nan")], {1, 2}]
)
def test_values_that_an_ordinal_refuses(values: object) -> None:
    with pytest.raises(SpaceError, match="ordinal 'x'") as caught:
        Ordinal("x", values)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values", [[], 3, [None], ["a", "a"], [1, True], [[[1]]], [float("inf")], [{}], {"a": 1}]
)
def test_values_that_a_categorical_refuses(values: object) -> None:
    with pytest.raises(SpaceError, match="categorical 'x'") as caught:
        Categorical("x", values)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
