"""What holds for every kind of parameter."""

from __future__ import annotations

import pickle
from collections import deque

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.space.strategies import parameters
from tunesmith.errors import SpaceError
from tunesmith.space import (
    Categorical,
    Factorization,
    Ordinal,
    Parameter,
    Permutation,
    Space,
    Value,
)

ONE_OF_EACH: list[Parameter] = [
    Factorization("tile", 24, 3),
    Permutation("order", ["i", "j", "k", "l"]),
    Ordinal("unroll", [0, 4, 16, 64]),
    Categorical("layout", ["NCHW", "NHWC", True, (1, 2)]),
]


def all_values(parameter: Parameter) -> list[Value]:
    return [parameter.value_at(index) for index in range(parameter.cardinality)]


def distances_from(parameter: Parameter, start: Value) -> dict[Value, int]:
    """Breadth-first search over the neighbours."""
    found = {start: 0}
    queue = deque([start])
    while queue:
        value = queue.popleft()
        for near in parameter.neighbours(value):
            if near not in found:
                found[near] = found[value] + 1
                queue.append(near)
    return found


@given(parameters())
def test_numbers_and_values_are_a_bijection(parameter: Parameter) -> None:
    values = all_values(parameter)
    assert len(set(values)) == parameter.cardinality
    assert [parameter.index_of(value) for value in values] == list(range(parameter.cardinality))
    assert all(parameter.contains(value) for value in values)


@given(parameters(), st.data())
def test_neighbours_are_distinct_mutual_and_never_the_value_itself(
    parameter: Parameter, data: st.DataObject
) -> None:
    value = data.draw(st.sampled_from(all_values(parameter)))
    around = parameter.neighbours(value)
    assert value not in around
    assert len(set(around)) == len(around)
    for near in around:
        assert parameter.contains(near)
        assert value in parameter.neighbours(near)


@given(parameters(), st.data())
def test_distance_is_the_length_of_a_shortest_path(
    parameter: Parameter, data: st.DataObject
) -> None:
    values = all_values(parameter)
    start = data.draw(st.sampled_from(values))
    shortest = distances_from(parameter, start)
    assert shortest.keys() == set(values)  # the graph is connected
    for value in values:
        assert parameter.distance(start, value) == shortest[value]


@given(parameters(), st.data())
def test_distance_is_a_metric(parameter: Parameter, data: st.DataObject) -> None:
    a, b, c = (data.draw(st.sampled_from(all_values(parameter))) for _ in range(3))
    assert parameter.distance(a, b) == parameter.distance(b, a)
    assert (parameter.distance(a, b) == 0) == (a == b)
    assert parameter.distance(a, c) <= parameter.distance(a, b) + parameter.distance(b, c)


@given(parameters())
def test_encodings_tell_values_apart(parameter: Parameter) -> None:
    encodings = {parameter.encode(value) for value in all_values(parameter)}
    assert len(encodings) == parameter.cardinality
    assert {len(encoding) for encoding in encodings} == {len(parameter.encoded_names)}


@given(parameters())
def test_columns_hold_the_values(parameter: Parameter) -> None:
    column = parameter.columns(np.arange(parameter.cardinality))
    rows = list(zip(*column, strict=True)) if isinstance(column, tuple) else list(column)
    assert rows == all_values(parameter)


@given(parameters())
def test_json_and_pickle_round_trips(parameter: Parameter) -> None:
    assert Space.from_json(Space([parameter]).to_json()).parameters == (parameter,)
    assert pickle.loads(pickle.dumps(parameter)) == parameter


@given(parameters(), st.data())
def test_numbers_may_come_from_numpy(parameter: Parameter, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, parameter.cardinality - 1))
    space = Space([parameter])
    config = space.config_at(np.int64(index))  # type: ignore[arg-type]
    assert config.key == space.config_at(index).key
    assert parameter.contains(parameter.value_at(np.int64(index)))  # type: ignore[arg-type]


@given(parameters(), st.integers())
def test_numbers_out_of_range_are_refused(parameter: Parameter, index: int) -> None:
    assume(not 0 <= index < parameter.cardinality)
    with pytest.raises(SpaceError, match=r"parameter 'p' has no value number .*0 to"):
        parameter.value_at(index)


@pytest.mark.parametrize("parameter", ONE_OF_EACH, ids=lambda parameter: parameter.kind)
def test_sampling_is_uniform(parameter: Parameter) -> None:
    rng = np.random.default_rng(7)
    draws = 200 * parameter.cardinality
    counts = np.zeros(parameter.cardinality)
    for _ in range(draws):
        counts[parameter.index_of(parameter.sample(rng))] += 1
    chi_square = float(((counts - 200) ** 2 / 200).sum())
    freedom = parameter.cardinality - 1
    # Four standard deviations of the chi-square distribution above its mean.
    assert chi_square < freedom + 4 * (2 * freedom) ** 0.5


STRANGERS: list[object] = [None, [], {}, range, 3.5, "x", (), ([1], [2]), (1, 2, 12.0), True, -1]


@pytest.mark.parametrize("stranger", STRANGERS, ids=repr)
@pytest.mark.parametrize(
    "parameter",
    [*ONE_OF_EACH[:3], Categorical("c", ["a", (1, 2)])],
    ids=lambda parameter: parameter.kind,
)
def test_values_of_others_are_refused_in_one_line(parameter: Parameter, stranger: object) -> None:
    assert not parameter.contains(stranger)
    with pytest.raises(SpaceError, match=f"parameter '{parameter.name}' has no value") as caught:
        parameter.check(stranger)
    assert "\n" not in str(caught.value)
    for method in (parameter.index_of, parameter.neighbours, parameter.encode):
        with pytest.raises(SpaceError):
            method(stranger)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_parameter_needs_a_name(name: object) -> None:
    with pytest.raises(SpaceError, match="not a parameter's name"):
        Ordinal(name, [1])  # type: ignore[arg-type]
