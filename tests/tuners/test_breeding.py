"""The roulette wheel, one-point crossover, mutation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.space import Categorical, Config, Factorization, Ordinal, Permutation
from tunesmith.tuners.breeding import (
    Individual,
    another_value,
    crossover,
    roulette_pairs,
)

NAMES = ("a", "b", "c", "d", "e", "f")


def config_of(digit: int) -> Config:
    return Config(dict.fromkeys(NAMES, digit))


def member(digit: int, fitness: float) -> Individual:
    return Individual(config_of(digit), fitness)


def drawn_parents(
    pool: list[Individual], rng: np.random.Generator
) -> tuple[Individual, Individual]:
    [(mother, father)] = roulette_pairs([parent.fitness for parent in pool], 1, rng)
    return pool[mother], pool[father]


# --- Crossover


@given(st.integers(0, 2**32))
def test_crossover_takes_a_head_of_one_parent_and_the_tail_of_the_other(seed: int) -> None:
    child = crossover(config_of(1), config_of(2), NAMES, np.random.default_rng(seed))
    ones = sum(value == 1 for value in child.values())
    assert list(child) == list(NAMES)
    assert list(child.values()) == [1] * ones + [2] * (6 - ones)
    assert 1 <= ones <= 5


def test_crossover_cuts_everywhere() -> None:
    rng = np.random.default_rng(0)
    children = [crossover(config_of(1), config_of(2), NAMES, rng) for _ in range(200)]
    assert {list(child.values()).count(1) for child in children} == {1, 2, 3, 4, 5}


def test_crossover_of_a_single_parameter_is_the_mother() -> None:
    mother, father = Config({"a": 1}), Config({"a": 2})
    assert crossover(mother, father, ("a",), np.random.default_rng(0)) == {"a": 1}


# --- Parents


def test_parents_are_drawn_in_proportion_to_their_fitness() -> None:
    rng = np.random.default_rng(0)
    pool = [member(digit, float(digit)) for digit in (1, 2, 3, 4)]
    pairs = [drawn_parents(pool, rng) for _ in range(4000)]
    assert all(mother != father for mother, father in pairs)
    firsts = Counter(mother.fitness for mother, _ in pairs)
    # 400, 800, 1200 and 1600 expected; the standard deviation is at most 31.
    assert all(abs(firsts[fitness] - 400 * fitness) < 160 for fitness in (1.0, 2.0, 3.0, 4.0))


def test_the_second_parent_is_drawn_in_proportion_among_the_others() -> None:
    rng = np.random.default_rng(0)
    pool = [member(1, 6.0), member(2, 3.0), member(3, 1.0)]
    pairs = [drawn_parents(pool, rng) for _ in range(4000)]
    after_first = Counter(father.fitness for mother, father in pairs if mother.fitness == 6.0)
    share = after_first[3.0] / sum(after_first.values())
    assert share == pytest.approx(0.75, abs=0.05)


def test_failures_are_not_parents_where_there_are_successes() -> None:
    rng = np.random.default_rng(0)
    pool = [member(1, 5.0), member(2, 5.0), *(member(digit, 0.0) for digit in range(3, 10))]
    chosen = {parent for _ in range(300) for parent in drawn_parents(pool, rng)}
    assert chosen == set(pool[:2])


@pytest.mark.parametrize("fitness", [0.0, 1e-300, 1.7e308])
def test_parents_of_equal_fitness_are_drawn_evenly(fitness: float) -> None:
    rng = np.random.default_rng(0)
    pool = [member(digit, fitness) for digit in range(4)]
    drawn = Counter(parent for _ in range(800) for parent in drawn_parents(pool, rng))
    assert all(300 <= drawn[parent] <= 500 for parent in pool)


def test_one_success_is_always_a_parent() -> None:
    rng = np.random.default_rng(0)
    pool = [member(1, 7.0), *(member(digit, 0.0) for digit in range(2, 10))]
    pairs = [drawn_parents(pool, rng) for _ in range(100)]
    assert all(pool[0] in pair and pair[0] != pair[1] for pair in pairs)


# --- Many pairs at once


def test_pairs_come_with_the_probabilities_of_drawing_without_replacement() -> None:
    fitness = [5.0, 3.0, 0.0, 2.0]
    pairs = Counter(roulette_pairs(fitness, 20_000, np.random.default_rng(0)))
    for first in (0, 1, 3):
        for second in (0, 1, 3):
            share = fitness[first] / 10 * fitness[second] / (10 - fitness[first])
            expected = 0.0 if first == second else share
            # The standard deviation is at most 0.0035.
            assert pairs[first, second] / 20_000 == pytest.approx(expected, abs=0.015)


@given(
    st.lists(st.floats(0.0, 1.7e308) | st.sampled_from([0.0, 5e-324, 1.0]), min_size=2),
    st.integers(0, 2**32),
)
def test_a_pair_is_of_two_places_whatever_the_fitness(fitness: list[float], seed: int) -> None:
    pairs = roulette_pairs(fitness, 50, np.random.default_rng(seed))
    assert len(pairs) == 50
    for first, second in pairs:
        assert first != second
        assert 0 <= first < len(fitness)
        assert 0 <= second < len(fitness)


@pytest.mark.parametrize("spin", [0.0, np.nextafter(1.0, 0.0)])
@pytest.mark.parametrize("fitness", [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0, 0.0]])
def test_spins_at_the_edge_of_the_wheel(fitness: list[float], spin: float) -> None:
    class Stuck(np.random.Generator):
        def random(self, size: object = None, *args: object, **named: object) -> np.ndarray:  # type: ignore[override]
            return np.full(size, spin)  # type: ignore[call-overload,no-any-return]

    [(first, second)] = roulette_pairs(fitness, 1, Stuck(np.random.PCG64()))
    assert {first, second} <= set(range(len(fitness)))
    assert first != second


def test_no_pairs() -> None:
    assert roulette_pairs([1.0, 2.0], 0, np.random.default_rng(0)) == []


# --- Mutation


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Ordinal("n", (1, 2)), 2),
        (Categorical("c", ("a", "b")), "a"),
        (Factorization("f", 2, 2), (1, 2)),
        (Permutation("p", (0, 1)), (1, 0)),
    ],
)
def test_another_value_is_another(parameter: Ordinal, value: int) -> None:
    rng = np.random.default_rng(0)
    assert all(another_value(parameter, value, rng) != value for _ in range(20))


def test_a_lone_value_stays() -> None:
    rng = np.random.default_rng(0)
    assert another_value(Factorization("f", 1, 3), (1, 1, 1), rng) == (1, 1, 1)
