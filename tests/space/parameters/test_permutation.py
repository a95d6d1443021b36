"""Permutations: the paper's example, long ones, and what is refused."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import SpaceError
from tunesmith.space import Permutation


def test_the_graph_of_figure_1b() -> None:
    order = Permutation("order", ["a", "b", "c"])
    assert order.value_at(0) == ("a", "b", "c")
    assert set(order.neighbours(("a", "b", "c"))) == {
        *[("b", "a", "c"), ("c", "b", "a"), ("a", "c", "b")]
    }
    assert order.distance(("a", "b", "c"), ("b", "c", "a")) == 2


@given(st.integers(1, 64), st.data())
def test_long_orders_have_numbers_too(length: int, data: st.DataObject) -> None:
    order = Permutation("order", range(length))
    assert order.cardinality == math.factorial(length)
    index = data.draw(st.integers(0, order.cardinality - 1))
    assert order.index_of(order.value_at(index)) == index


@given(st.integers(0, 2**32))
def test_exchanges_bring_an_order_as_far_as_its_distance_says(seed: int) -> None:
    order = Permutation("order", range(8))
    shuffled = list(range(8))
    random.Random(seed).shuffle(shuffled)
    goal, value = tuple(range(8)), tuple(shuffled)
    steps = 0
    while value != goal:
        nearer = [
            v
            for v in order.neighbours(value)
            if order.distance(v, goal) == order.distance(value, goal) - 1
        ]
        value = nearer[0]  # type: ignore[assignment]
        steps += 1
    assert steps == order.distance(tuple(shuffled), goal)


def test_an_encoding_gives_the_position_of_each_item() -> None:
    order = Permutation("order", ["i", "j", "k"])
    assert order.encode(("k", "i", "j")) == (1.0, 2.0, 0.0)


@pytest.mark.parametrize("items", [[], "ijk", None, ["i", "i"], [("i",)], range(65), [None]])
def test_items_that_are_refused(items: object) -> None:
    with pytest.raises(SpaceError, match="permutation 'order'"):
        Permutation("order", items)  # type: ignore[arg-type]
