"""Sampling: uniform over the valid configs, reproducible, bounded, and distinct where asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.space.strategies import spaces
from tunesmith.errors import SpaceError
from tunesmith.space import Categorical, Config, Constraint, Factorization, Ordinal, Space
from tunesmith.space.enumeration import component

SEVERAL_COMPONENTS = Space(
    [
        Factorization("m", 8, 3),
        Ordinal("a", [1, 2, 3]),
        Categorical("free", ["x", "y"]),
        Ordinal("b", [1, 2, 3]),
        Ordinal("c", [1, 2, 3]),
    ],
    ["a < b or c == 1", "m[0] <= m[2]", "b != c"],
)


def chi_square_is_small(space: Space, draw: Callable[[], Config], draws: int) -> bool:
    configs = list(space.enumerate())
    place = {config: index for index, config in enumerate(configs)}
    counts = np.zeros(len(configs))
    for _ in range(draws):
        counts[place[draw()]] += 1
    expected = draws / len(configs)
    freedom = len(configs) - 1
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    return bool(chi_square < freedom + 4 * (2 * freedom) ** 0.5)


def test_sampling_is_uniform_over_the_valid_configs() -> None:
    rng = np.random.default_rng(5)
    assert SEVERAL_COMPONENTS.size < SEVERAL_COMPONENTS.cartesian_size
    assert chi_square_is_small(SEVERAL_COMPONENTS, lambda: SEVERAL_COMPONENTS.sample(rng), 5000)


def test_sampling_by_trying_is_uniform_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "ROW_LIMIT", 1)
    space = Space(SEVERAL_COMPONENTS.parameters, SEVERAL_COMPONENTS.constraints)
    with pytest.raises(SpaceError, match="cannot be counted"):
        _ = space.size
    rng = np.random.default_rng(6)
    assert chi_square_is_small(space, lambda: space.sample(rng), 5000)


def test_samples_list_the_parameters_in_the_order_of_the_space() -> None:
    config = SEVERAL_COMPONENTS.sample(np.random.default_rng(0))
    assert tuple(config) == SEVERAL_COMPONENTS.names
    (other,) = SEVERAL_COMPONENTS.sample_many(1, np.random.default_rng(0))
    assert tuple(other) == SEVERAL_COMPONENTS.names


@given(spaces(), st.integers(0, 99), st.integers(0, 12))
def test_many_samples_are_distinct_and_as_many_as_there_are(
    space: Space, seed: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    if not space.size and count:
        with pytest.raises(SpaceError, match="no config satisfies"):
            space.sample_many(count, rng)
        return
    found = space.sample_many(count, rng)
    assert len(found) == len(set(found)) == min(count, space.size)
    assert all(space.contains(config) for config in found)


def test_many_samples_are_uniform() -> None:
    rng = np.random.default_rng(8)
    assert chi_square_is_small(
        SEVERAL_COMPONENTS, lambda: SEVERAL_COMPONENTS.sample_many(2, rng)[1], 5000
    )


def test_a_negative_number_of_samples_is_refused() -> None:
    with pytest.raises(SpaceError, match="cannot sample -1 configs"):
        SEVERAL_COMPONENTS.sample_many(-1, np.random.default_rng(0))


def test_samples_do_not_depend_on_what_was_asked_before() -> None:
    parameters = [Ordinal(name, range(128)) for name in "abc"]
    for constraint in ("a <= b + c", "a * b * c < 40"):  # most configs valid, and few
        fresh, used = (Space(parameters, [constraint]) for _ in range(2))
        assert 0 < used.size < used.cartesian_size
        rngs = np.random.default_rng(1), np.random.default_rng(1)
        assert [fresh.sample(rngs[0]) for _ in range(20)] == [
            used.sample(rngs[1]) for _ in range(20)
        ]
        assert fresh.sample_many(20, rngs[0]) == used.sample_many(20, rngs[1])


def billions() -> list[Factorization]:
    return [Factorization(name, 1 << 30, 8) for name in "xyz"]


def test_a_constrained_space_of_billions_is_sampled_without_counting() -> None:
    space = Space(billions(), ["x[0] * y[0] * z[0] <= 4096", "x[7] < y[7] * z[7]"])
    assert space.cartesian_size > 10**18
    with pytest.raises(SpaceError, match="cannot be counted"):
        _ = space.size
    rng = np.random.default_rng(2)
    assert all(space.contains(space.sample(rng)) for _ in range(20))
    found = space.sample_many(50, rng)
    assert len(set(found)) == 50


def test_sizes_beyond_machine_words_are_sampled_many_at_a_time() -> None:
    space = Space(billions())
    assert space.size > 1 << 63
    assert len(set(space.sample_many(100, np.random.default_rng(0)))) == 100


def test_a_space_without_valid_configs() -> None:
    space = Space([Ordinal("a", [1, 2]), Ordinal("b", [1, 2])], ["a < b", "a > b"])
    assert space.size == 0
    assert list(space.enumerate()) == []
    with pytest.raises(SpaceError, match="no config satisfies 'a < b', 'a > b': loosen them"):
        space.sample(np.random.default_rng(0))


def test_drawing_gives_up_where_valid_configs_cannot_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(component, "_MAX_DRAWS", 50)
    space = Space(billions(), ["x[0] * y[0] * z[0] < 0"])
    with pytest.raises(SpaceError, match=r"found no valid config in 50 draws: loosen 'x\[0\]"):
        space.sample(np.random.default_rng(0))


def test_an_uncounted_space_is_exhausted_after_draws_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(component, "ROW_LIMIT", 1)
    space = Space([Ordinal("a", range(4)), Ordinal("b", range(4))], ["a != b"])
    found = space.sample_many(20, np.random.default_rng(0))
    assert len(found) == len(set(found)) == 12


def test_a_broken_constraint_is_an_error_not_an_invalid_config() -> None:
    space = Space([Ordinal("a", [0, 1])], ["1 / a > 0"])
    with pytest.raises(SpaceError, match="a=0: division by zero"):
        space.sample(np.random.default_rng(0))
    with pytest.raises(SpaceError, match="a=0: division by zero"):
        _ = space.size


def test_a_predicate_is_called_once_for_each_combination_it_reads() -> None:
    calls: list[int] = []

    def noted(a: int) -> bool:
        calls.append(a)
        return a > 1

    predicate = Constraint.of(["a"], noted, "noted")
    others = [Ordinal(name, range(20)) for name in "bcd"]
    space = Space([*others, Ordinal("a", [1, 2, 3])], [predicate, "b + c + d + a > 3"])
    assert space.size > 10_000
    assert sorted(calls) == [1, 2, 3]
