"""Coordinates of configs, worked out by hand."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from tunesmith.features import Coordinates
from tunesmith.space import (
    Categorical,
    Config,
    Factorization,
    Ordinal,
    Parameter,
    Permutation,
    Space,
    Value,
)

THIRD = math.log2(3)


def _of(parameter: Parameter, value: Value) -> list[float]:
    coordinates = Coordinates(Space([parameter]))
    found = coordinates.of(Config({parameter.name: value}))
    assert len(found) == coordinates.count
    return [float(each) for each in found]


@pytest.mark.parametrize(
    "value, expected",
    [(16, [0.0, 0.0]), (48, [THIRD / 2, THIRD / math.log2(3)]), (64, [1.0, 0.0])],
)
def test_a_number_has_its_logarithm_and_that_of_its_odd_part(
    value: int, expected: list[float]
) -> None:
    assert _of(Ordinal("n", (16, 32, 48, 64)), value) == pytest.approx(expected)


def test_powers_of_two_need_no_second_coordinate() -> None:
    assert _of(Ordinal("n", (1, 2, 4)), 2) == [0.5]


def test_zero_and_negative_numbers_keep_their_order() -> None:
    parameter = Ordinal("n", (-3, 0, 1, 512, 1500))
    places = [_of(parameter, value)[0] for value in parameter.values]
    assert places == sorted(set(places))
    assert (places[0], places[-1]) == (0.0, 1.0)


def test_fractions_have_a_logarithm_alone() -> None:
    assert _of(Ordinal("n", (0.5, 1.0, 2.0)), 2.0) == [1.0]


def test_each_part_of_a_factorization_is_a_number() -> None:
    assert _of(Factorization("x", 16, 2), (4, 4)) == [0.5, 0.5]
    three = math.log2(3) / math.log2(12)
    expected = [1 - three, 0.0, three, 1.0]
    assert _of(Factorization("x", 12, 2), (4, 3)) == pytest.approx(expected)


def test_values_without_an_order_are_equally_far_apart() -> None:
    of_three = [np.array(_of(Categorical("c", ("a", "b", "c")), value)) for value in "abc"]
    distances = {float(np.abs(one - two).sum()) for one in of_three for two in of_three}
    assert distances == {0.0, 1.0}
    assert [_of(Categorical("c", ("a", "b")), value) for value in "ab"] == [[0.0], [1.0]]


def test_a_permutation_tells_which_item_of_each_pair_is_first_and_which_is_last() -> None:
    """The pairs are ij, ik and jk; a permutation of three has two pairs an item."""
    order = Permutation("order", ("i", "j", "k"))
    assert _of(order, ("i", "j", "k")) == [0.5, 0.5, 0.5, 0.0, 0.0, 0.5]
    assert _of(order, ("k", "i", "j")) == [0.5, 0.0, 0.0, 0.0, 0.5, 0.0]


@pytest.mark.parametrize("count", [8, 9, 40])
def test_a_long_permutation_has_the_place_of_each_item(count: int) -> None:
    """Pairs of 40 would be 780 coordinates. Distances are of the same size as those of pairs."""
    order = Permutation("order", tuple(range(count)))
    coordinates = Coordinates(Space([order]))
    pairs = count * (count - 1) // 2
    assert coordinates.count == count + (pairs if count <= 8 else count)
    assert len(set(coordinates.groups)) == 1 + coordinates.count - count
    rng = np.random.default_rng(count)
    for _ in range(20):
        first, second = (tuple(map(int, rng.permutation(count))) for _ in range(2))
        one, other = coordinates.of_all([Config({"order": it}) for it in (first, second)])
        apart = np.abs(one - other)[:-count].sum() * (count - 1)
        inversions = sum(
            (first.index(a) < first.index(b)) != (second.index(a) < second.index(b))
            for a, b in combinations(range(count), 2)
        )
        assert inversions - 1e-9 <= apart <= (1 if count <= 8 else 2) * inversions + 1e-9


def test_numbers_whose_logarithms_are_the_same_are_told_apart() -> None:
    values = (10**18, 10**18 + 1, 10**18 + 2)
    assert len({math.log2(value) for value in values}) == 1
    coordinates = Coordinates(Space([Ordinal("n", values)]))
    places = [coordinates.of(Config({"n": value}))[0] for value in values]
    assert places == [0.0, 0.5, 1.0]


def test_what_is_one_choice_is_one_group() -> None:
    space = Space(
        [
            Ordinal("n", (1, 2, 4)),
            Categorical("c", ("x", "y", "z")),
            Permutation("p", ("i", "j", "k")),
            Categorical("flag", (False, True)),
        ]
    )
    coordinates = Coordinates(space)
    assert coordinates.groups == [0, 1, 1, 1, 2, 3, 4, 5, 5, 5, 6]
    assert coordinates.count == len(coordinates.groups)


def test_a_parameter_with_one_value_has_none() -> None:
    space = Space([Ordinal("n", (7,)), Factorization("x", 1, 3), Permutation("p", ("i",))])
    coordinates = Coordinates(space)
    config = space.config_at(0)
    assert coordinates.count == 0
    assert coordinates.of_all([config, config]).shape == (2, 0)


def test_several_configs_are_rows() -> None:
    space = Space([Ordinal("n", (1, 2, 4)), Categorical("c", ("a", "b"))])
    configs = [Config({"n": 4, "c": "a"}), Config({"n": 1, "c": "b"})]
    assert Coordinates(space).of_all(configs).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_roundness_is_one_over_the_odd_parts_beside_the_roundest() -> None:
    space = Space([Ordinal("a", (0, 3, 8, 48)), Ordinal("b", (5, 64)), Factorization("x", 9, 2)])
    coordinates = Coordinates(space)
    configs = [
        Config({"a": 8, "b": 64, "x": (9, 1)}),
        Config({"a": 0, "b": 64, "x": (1, 9)}),
        Config({"a": 48, "b": 5, "x": (3, 3)}),
    ]
    rows = coordinates.of_all(configs)
    assert coordinates.relative_roundness(rows) == pytest.approx([1.0, 1.0, 1 / 15])
    assert coordinates.relative_roundness(rows[2:]).tolist() == [1.0]


def test_roundness_of_many_odd_values_is_no_0() -> None:
    """Hundreds of parameters: the product of the odd parts is no number any more."""
    space = Space([Ordinal(f"p{place}", tuple(range(1, 10_001))) for place in range(150)])
    coordinates = Coordinates(space)
    configs = [Config(dict.fromkeys(space.names, value)) for value in (9_999, 9_997)]
    first, second = coordinates.relative_roundness(coordinates.of_all(configs)).tolist()
    assert second == 1.0
    assert first == pytest.approx((9_997 / 9_999) ** 150)
