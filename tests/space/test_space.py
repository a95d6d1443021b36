"""Spaces: numbers, membership, neighbours, features, enumeration, JSON."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.space.strategies import spaces
from tunesmith.errors import SpaceError
from tunesmith.space import (
    Categorical,
    Config,
    Constraint,
    Factorization,
    Ordinal,
    Permutation,
    Space,
)
from tunesmith.space.value import identity


def small_space() -> Space:
    return Space(
        [
            Factorization("m", 8, 2),
            Ordinal("unroll", [0, 4, 16]),
            Categorical("layout", ["x", "y"]),
        ],
        ["unroll <= 4 or m[0] > 1", "layout == 'x' or unroll == 0"],
    )


def by_brute_force(space: Space) -> list[Config]:
    """All valid configs in the order of their numbers, found by trying every number."""
    every = (space.config_at(index) for index in range(space.cartesian_size))
    return [config for config in every if all(c.holds(config) for c in space.constraints)]


def test_the_example_of_the_issue() -> None:
    space = Space(
        [Factorization("m", 1024, 4), Factorization("k", 1024, 2), Factorization("n", 1024, 4)]
    )
    assert space.size == 899756


@given(spaces())
def test_size_and_enumeration_agree_with_brute_force(space: Space) -> None:
    valid = by_brute_force(space)
    assert space.size == len(valid)
    assert list(space.enumerate()) == valid


@given(spaces(), st.data())
def test_numbers_and_configs_are_a_bijection(space: Space, data: st.DataObject) -> None:
    assert space.cartesian_size == math.prod(p.cardinality for p in space.parameters)
    index = data.draw(st.integers(0, space.cartesian_size - 1))
    config = space.config_at(index)
    assert space.index_of(config) == index
    assert tuple(config) == space.names


def test_the_last_parameter_runs_fastest() -> None:
    space = Space([Ordinal("a", [1, 2]), Ordinal("b", [1, 2, 3])])
    expected = [{"a": a, "b": b} for a, b in itertools.product([1, 2], [1, 2, 3])]
    assert [dict(space.config_at(index)) for index in range(6)] == expected


@given(spaces(), st.data())
def test_neighbours_are_the_valid_configs_at_distance_one(
    space: Space, data: st.DataObject
) -> None:
    config = space.config_at(data.draw(st.integers(0, space.cartesian_size - 1)))
    around = space.neighbours(config)
    expected = {other for other in by_brute_force(space) if space.distance(config, other) == 1}
    assert set(around) == expected
    assert len(around) == len(expected)


@given(spaces(), st.data())
def test_changed_are_the_valid_configs_with_each_value_of_a_parameter(
    space: Space, data: st.DataObject
) -> None:
    config = space.config_at(data.draw(st.integers(0, space.cartesian_size - 1)))
    parameter = data.draw(st.sampled_from(space.parameters))
    values = [parameter.value_at(number) for number in range(parameter.cardinality)]
    changed = space.changed(config, parameter.name, values)
    rest = [name for name in space.names if name != parameter.name]
    expected = [
        other
        for other in by_brute_force(space)
        if all(identity(other[name]) == identity(config[name]) for name in rest)
    ]
    assert set(changed) == set(expected)
    assert len(changed) == len(expected)


def test_a_parameter_that_is_not_there_cannot_change() -> None:
    space = small_space()
    with pytest.raises(SpaceError, match="no parameter is called 'nothing': there are"):
        space.changed(space.config_at(0), "nothing", [1])


@given(spaces(), st.data())
def test_encodings_have_one_length_and_tell_configs_apart(
    space: Space, data: st.DataObject
) -> None:
    configs = [
        space.config_at(data.draw(st.integers(0, space.cartesian_size - 1))) for _ in range(2)
    ]
    encodings = [space.encode(config) for config in configs]
    for encoding in encodings:
        assert encoding.shape == (len(space.encoded_names),)
        assert encoding.dtype == np.float64
    assert np.array_equal(encodings[0], encodings[1]) == (configs[0] == configs[1])


@given(spaces())
def test_json_and_pickle_round_trips(space: Space) -> None:
    again = Space.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert hash(again) == hash(space)
    assert again.size == space.size
    assert pickle.loads(pickle.dumps(space)) == space


def test_a_space_does_not_travel_with_what_it_has_listed() -> None:
    parameters = [Ordinal("a", range(500)), Ordinal("b", range(500))]
    space = Space(parameters, ["a < b"])
    before = len(pickle.dumps(space))
    assert space.size == 500 * 499 // 2
    space.sample(np.random.default_rng(0))
    assert len(pickle.dumps(space)) == before


def test_membership() -> None:
    space = small_space()
    good = Config({"layout": "x", "m": (4, 2), "unroll": 16})
    assert space.contains(good)
    space.check(good)
    assert space.contains({"m": (1, 8), "unroll": 0, "layout": "y"})
    assert not space.contains({"m": (1, 8), "unroll": 0})
    assert not space.contains({"m": (1, 8), "unroll": 0, "layout": "y", "more": 1})
    assert not space.contains({"m": (1, 8), "unroll": 0, "other": "y"})


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"m": (4, 2), "unroll": 0}, "config lacks parameter 'layout'"),
        (
            {"m": (4, 2), "unroll": 0, "layout": "x", "z": 1},
            "config has 'z', which is not a parameter",
        ),
        ({"m": (4, 4), "unroll": 0, "layout": "x"}, "parameter 'm' has no value (4, 4)"),
        ({"m": (4, 2), "unroll": 0.0, "layout": "x"}, "parameter 'unroll' has no value 0.0"),
        ({"m": (1, 8), "unroll": 16, "layout": "x"}, "config violates 'unroll <= 4 or m[0] > 1'"),
    ],
)
def test_what_a_check_says(config: dict[str, Any], problem: str) -> None:
    space = small_space()
    assert not space.contains(config)
    with pytest.raises(SpaceError) as caught:
        space.check(config)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_configs_with_other_names_are_refused_everywhere() -> None:
    space = small_space()
    wrong = Config({"m": (4, 2)})
    for method in (space.index_of, space.neighbours, space.encode):
        with pytest.raises(SpaceError, match="config lacks parameter 'unroll'"):
            method(wrong)
    with pytest.raises(SpaceError, match="config lacks"):
        space.distance(space.config_at(0), wrong)


@pytest.mark.parametrize("index", [-1, 24, 10**30])
def test_numbers_out_of_range_are_refused(index: int) -> None:
    with pytest.raises(SpaceError, match="give one of 0 to 23"):
        small_space().config_at(index)


def test_enumeration_starts_at_once_in_a_space_of_billions() -> None:
    space = Space(
        [Factorization(f"t{axis}", 1 << 30, 8) for axis in range(6)], ["t0[7] > t1[0]", "t5[0] > 1"]
    )
    first = list(itertools.islice(space.enumerate(), 5))
    numbers = [space.index_of(config) for config in first]
    assert numbers == sorted(set(numbers))
    assert all(space.contains(config) for config in first)


A, B = Ordinal("a", [1, 2]), Ordinal("b", [1, 2])


@pytest.mark.parametrize(
    ("parameters", "constraints", "problem"),
    [
        ([], [], "at least one parameter"),
        ([A, Permutation("a", ["xy"])], [], "two parameters are called 'a'"),
        (["a"], [], "'a' is not a parameter"),
        ([A], ["a < c"], "constraint 'a < c' reads 'c', which is none of the parameters ('a',)"),
        ([A], "a < 2", "constraints are 'a < 2': give a list"),
        ([A], [Constraint.of(["z"], bool, "odd")], "constraint 'odd' reads 'z'"),
    ],
)
def test_spaces_that_are_refused(parameters: Any, constraints: Any, problem: str) -> None:
    with pytest.raises(SpaceError) as caught:
        Space(parameters, constraints)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


GOOD = Space([A, B], ["a < b"]).to_json()


def changed(*path: Any, to: Any) -> dict[str, Any]:
    """``GOOD`` with one entry replaced, or removed where ``to`` is Ellipsis."""
    document = copy.deepcopy(GOOD)
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return document


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (None, "not a space"),
        ([], "not a space"),
        (changed("format", to="other"), "not a space"),
        (changed("version", to=2), "space of version 2"),
        (changed("version", to=...), "space of version None"),
        (changed("parameters", to=...), "'parameters' is None"),
        (changed("parameters", to={}), "'parameters' is {}"),
        (changed("constraints", to="a < b"), "'constraints' is 'a < b'"),
        (changed("parameters", 0, to=3), "3 is not a parameter"),
        (changed("parameters", 0, "kind", to="real"), "parameter 'a' is of unknown kind 'real'"),
        (changed("parameters", 0, "kind", to=["x"]), "parameter 'a' is of unknown kind ['x']"),
        (changed("parameters", 0, "kind", to="factorization"), "lacks the field 'product'"),
        (changed("parameters", 0, "name", to=...), "lacks the field 'name'"),
        (changed("parameters", 0, "name", to=7), "7 is not a parameter's name"),
        (changed("parameters", 0, "values", to=[]), "ordinal 'a' has no values"),
        (changed("parameters", 0, "values", to=[1, None]), "None is not a value"),
        (changed("constraints", 0, to="a.b"), "'a.b' is not allowed"),
        (changed("constraints", 0, to=5), "5 is not an expression"),
        (changed("constraints", 0, to="a < z"), "reads 'z'"),
    ],
)
def test_json_that_is_refused(document: Any, problem: str) -> None:
    with pytest.raises(SpaceError) as caught:
        Space.from_json(document)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_json_of_each_kind_stays_readable() -> None:
    space = Space(
        [
            Factorization("m", 8, 2),
            Permutation("order", ["i", "j"]),
            Ordinal("unroll", [0, 4]),
            Categorical("layout", ["x", (1, 2)]),
        ],
        ["m[0] > unroll"],
    )
    assert space.to_json() == {
        "format": "tunesmith-space",
        "version": 1,
        "parameters": [
            {"kind": "factorization", "name": "m", "product": 8, "parts": 2},
            {"kind": "permutation", "name": "order", "items": ["i", "j"]},
            {"kind": "ordinal", "name": "unroll", "values": [0, 4]},
            {"kind": "categorical", "name": "layout", "values": ["x", [1, 2]]},
        ],
        "constraints": ["m[0] > unroll"],
    }


def test_a_notebook_shows_it_as_a_table() -> None:
    space = Space(
        [Ordinal("<b>tile</b>", [1, 2, 4]), Categorical("order", ["<script>", "kij"])],
        ["order != 'kij'"],
    )
    shown = space._repr_html_()
    assert "space of 6 configs" in shown
    for text in ("&lt;b&gt;tile&lt;/b&gt;", "ordinal", "categorical", "&lt;script&gt;", "!="):
        assert text in shown
    assert "<script" not in shown
    assert "<b>" not in shown
