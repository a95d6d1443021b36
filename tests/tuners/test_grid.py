"""Grid search."""

from __future__ import annotations

from itertools import product

from tunesmith.space import Config, Factorization, Ordinal, Space
from tunesmith.testing.trials import measured, space_named
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners import Grid


class TestGrid(TunerConformance):
    tuner = Grid()
    stochastic = False


def test_configs_come_in_index_order_the_last_parameter_running_fastest() -> None:
    space = Space([Ordinal("a", (1, 2)), Ordinal("b", (5, 6, 7))])
    proposed = Grid().start(space, 0).propose(6)
    assert [(c["a"], c["b"]) for c in proposed] == list(product((1, 2), (5, 6, 7)))
    assert [space.index_of(config) for config in proposed] == list(range(6))


def test_invalid_configs_are_skipped() -> None:
    space = Space([Ordinal("a", (0, 1, 2)), Ordinal("b", (0, 1, 2))], ["a + b == 2"])
    proposed = Grid().start(space, 0).propose(9)
    assert [(c["a"], c["b"]) for c in proposed] == [(0, 2), (1, 1), (2, 0)]


def test_observed_configs_are_skipped() -> None:
    space = Space([Ordinal("a", tuple(range(5)))])
    search = Grid().start(space, 0)
    search.observe([measured(Config({"a": n}), 1.0) for n in (0, 3)])
    assert [config["a"] for config in search.propose(5)] == [1, 2, 4]


def test_a_space_of_billions_is_walked_from_its_start_without_listing_it() -> None:
    space = space_named("billions")
    proposed = Grid().start(space, 0).propose(50)
    assert [space.index_of(config) for config in proposed] == list(range(50))


def test_the_order_is_that_of_the_parameters_own_values() -> None:
    tile = Factorization("tile", 12, 2)
    proposed = Grid().start(Space([tile]), 0).propose(6)
    assert [config["tile"] for config in proposed] == [tile.value_at(i) for i in range(6)]
