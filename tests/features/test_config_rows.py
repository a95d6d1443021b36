"""Configs as rows: the same configs, validity and coordinates as one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.errors import SpaceError
from tunesmith.features import Coordinates, config_rows
from tunesmith.features.config_rows import ConfigRows
from tunesmith.space import Categorical, Config, Constraint, Factorization, Ordinal, Space
from tunesmith.testing.trials import LARGE_SPACES, SMALL_SPACES, space_named

TILES = [Factorization("x", 64, 3), Factorization("y", 48, 3)]
MANY = Factorization("many", 1 << 20, 4)


def sampled(space: Space, count: int = 50) -> list[Config]:
    return space.sample_many(count, np.random.default_rng(0))


@pytest.mark.parametrize("name", LARGE_SPACES + SMALL_SPACES)
def test_rows_are_their_configs(name: str) -> None:
    space = space_named(name)
    rows, configs = ConfigRows(space), sampled(space)
    numbers = rows.of(configs)
    assert numbers.shape == (len(configs), len(space.parameters))
    assert rows.configs(numbers) == configs
    assert (rows.features(numbers) == Coordinates(space).of_all(configs)).all()
    assert rows.valid(numbers).all()
    assert len(np.unique(rows.keys(numbers))) == len(configs)
    assert (rows.keys(numbers[::-1]) == rows.keys(numbers)[::-1]).all()


@pytest.mark.parametrize(
    "constraints",
    [
        ["x[2] * y[2] <= 32"],
        ["x[0] + y[0] != 17", "x[1] <= y[1]"],
        [Constraint.of(["y", "x"], lambda y, x: y[0] < x[0], "a function")],
        ["many[0] >= 32"],
        ["many[0] * x[0] >= 256", "layout == 'a' or y[2] > 4"],
        [Constraint.of(["many"], lambda many: many[1] % 8 == 0, "a function")],
    ],
)
def test_validity_is_that_of_the_space(constraints: list[Constraint | str]) -> None:
    free = Space([*TILES, MANY, Categorical("layout", ("a", "b"))])
    space = Space(free.parameters, constraints)
    rows, configs = ConfigRows(space), sampled(free, 300)
    expected = [space.contains(config) for config in configs]
    assert True in expected
    assert False in expected
    assert rows.valid(rows.of(configs)).tolist() == expected
    assert rows.valid(rows.of(configs[::3])).tolist() == expected[::3]


@pytest.mark.parametrize("tabled", [True, False])
def test_a_constraint_that_one_before_it_guards(
    monkeypatch: pytest.MonkeyPatch, tabled: bool
) -> None:
    if not tabled:
        monkeypatch.setattr(config_rows, "_TABLED", 0)
    space = space_named("guarded")
    free = Space(space.parameters)
    rows, configs = ConfigRows(space), sampled(free, 300)
    expected = [space.contains(config) for config in configs]
    assert {True, False} == set(expected)
    assert rows.valid(rows.of(configs)).tolist() == expected


def test_a_move_changes_one_parameter() -> None:
    space = Space([*TILES, Ordinal("one", (7,)), Ordinal("n", (1, 2)), MANY])
    rows, rng = ConfigRows(space), np.random.default_rng(0)
    before = rows.of(sampled(space, 400))
    given = before.copy()
    after = rows.moved(before, rng)
    assert (before == given).all()
    changed = before != after
    assert (changed.sum(axis=1) <= 1).all()
    assert changed.sum() >= 0.99 * len(before)  # MANY's other value may be the same
    per_parameter = changed.sum(axis=0)
    assert per_parameter[2] == 0  # has no other value
    assert (per_parameter[[0, 1, 3, 4]] > 60).all()
    assert all(space.contains(config) for config in rows.configs(after))


def test_a_move_goes_to_every_other_value() -> None:
    space = Space([Ordinal("n", (1, 2, 4, 8))])
    rows = ConfigRows(space)
    start = np.full((400, 1), 2)
    moved = rows.moved(start, np.random.default_rng(0))[:, 0]
    counts = np.bincount(moved, minlength=4)
    assert counts[2] == 0
    assert (counts[[0, 1, 3]] > 80).all()


def test_a_space_with_a_single_config_cannot_move() -> None:
    rows = ConfigRows(space_named("one point"))
    start = np.zeros((3, 1), dtype=np.int64)
    assert (rows.moved(start, np.random.default_rng(0)) == start).all()
    assert rows.features(start).shape == (3, 0)


def test_values_that_are_equal_and_of_different_types_are_told_apart() -> None:
    space = Space([Categorical("c", ("1", "true")), Ordinal("n", (1, 2))])
    rows = ConfigRows(space)
    numbers = rows.of(list(space.enumerate()))
    assert len({*map(tuple, numbers.tolist())}) == 4


def test_a_value_that_a_listed_parameter_does_not_have() -> None:
    rows = ConfigRows(Space([Ordinal("n", (1, 2)), MANY]))
    with pytest.raises(SpaceError, match="n has no value 3"):
        rows.of([Config({"n": 3, "many": (1 << 20, 1, 1, 1)})])
