"""OpEvo's recombination and mutation against sections 4.2 and 4.3 of its paper."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tunesmith.features.ties import ties_of
from tunesmith.space import Config, Ordinal, Space
from tunesmith.tuners.breeding import Individual
from tunesmith.tuners.opevo import fitness_shares, mutate, recombine

NAMES = ("a", "b", "c", "d", "e", "f")
DIGITS = Space([Ordinal(name, tuple(range(10))) for name in NAMES])


def config_of(digit: int) -> Config:
    return Config(dict.fromkeys(NAMES, digit))


# --- Recombination: section 4.2


def test_shares_are_in_proportion_to_fitness() -> None:
    parents = [Individual(config_of(digit), float(digit)) for digit in (4, 3, 1, 0)]
    assert fitness_shares(parents).tolist() == [0.5, 0.375, 0.125, 0.0]


@pytest.mark.parametrize("fitness", [5e-324, 1.0, 1.7e308])
def test_shares_of_extreme_fitness_are_finite(fitness: float) -> None:
    parents = [Individual(config_of(digit), fitness) for digit in range(4)]
    assert fitness_shares(parents).tolist() == [0.25] * 4


def test_each_parameter_comes_from_a_parent_drawn_for_it_alone() -> None:
    rng = np.random.default_rng(0)
    parents = [Individual(config_of(1), 3.0), Individual(config_of(2), 1.0)]
    children = [recombine(parents, ties_of(DIGITS), rng) for _ in range(4000)]
    pairs = Counter((child["a"], child["f"]) for child in children)
    # Standard deviations of the shares are below 0.008.
    expected = {(1, 1): 9 / 16, (1, 2): 3 / 16, (2, 1): 3 / 16, (2, 2): 1 / 16}
    assert {pair: count / 4000 for pair, count in pairs.items()} == pytest.approx(
        expected, abs=0.03
    )
    for name in NAMES:
        ones = sum(child[name] == 1 for child in children)
        assert ones / 4000 == pytest.approx(0.75, abs=0.03)


def test_failures_are_never_inherited_from() -> None:
    rng = np.random.default_rng(0)
    parents = [Individual(config_of(7), 1e-9), *(Individual(config_of(d), 0.0) for d in range(7))]
    for _ in range(200):
        assert recombine(parents, ties_of(DIGITS), rng) == config_of(7)


def test_recombination_meets_constraints() -> None:
    """What one constraint ties together is mixed where that is valid, or stays whole."""
    space = Space(DIGITS.parameters, ["a == b", "c + d <= 5"])
    pairs = [(9, 9, 0, 5), (4, 4, 5, 0), (2, 2, 1, 1)]
    configs = [Config({"a": a, "b": b, "c": c, "d": d, "e": a, "f": b}) for a, b, c, d in pairs]
    parents = [Individual(config, 1.0) for config in configs]
    rng = np.random.default_rng(0)
    children = [recombine(parents, ties_of(space), rng) for _ in range(300)]
    assert all(space.contains(child) and list(child) == list(NAMES) for child in children)
    assert {(child["c"], child["d"]) for child in children} == {
        *[(0, 5), (5, 0), (1, 1)],
        *[(0, 0), (0, 1), (1, 0)],
    }


def test_recombination_that_cannot_meet_constraints_takes_from_one_parent() -> None:
    parameters = [Ordinal(name, tuple(range(1000))) for name in ("x", "y", "z")]
    space = Space(parameters, ["x == y", "y == z"])
    parents = [Individual(Config({"x": i, "y": i, "z": i}), 1.0) for i in range(900)]
    rng = np.random.default_rng(0)
    children = [recombine(parents, ties_of(space), rng) for _ in range(20)]
    assert all(space.contains(child) for child in children)
    assert len({child["x"] for child in children}) > 10


# --- Mutation: section 4.3


def line_walk(size: int, begin: int, q: float) -> list[float]:
    """Where a q-random walk on a line of ``size`` places stops, by linear algebra."""
    steps = np.zeros((size, size))
    for place in range(size):
        around = [near for near in (place - 1, place + 1) if 0 <= near < size]
        steps[place, around] = 1 / len(around)
    return [float(p) for p in ((1 - q) * np.linalg.inv(np.eye(size) - q * steps))[begin]]


def test_every_parameter_walks_by_itself() -> None:
    space = Space([Ordinal("a", (0, 1, 2)), Ordinal("b", (0, 1, 2, 3))])
    rng = np.random.default_rng(0)
    mutants = [mutate({"a": 1, "b": 0}, ties_of(space), 0.5, rng) for _ in range(8000)]
    seen = Counter((mutant["a"], mutant["b"]) for mutant in mutants)
    of_a, of_b = line_walk(3, 1, 0.5), line_walk(4, 0, 0.5)
    for a in range(3):
        for b in range(4):
            assert seen[a, b] / 8000 == pytest.approx(of_a[a] * of_b[b], abs=0.02)


def test_under_a_constraint_the_walk_has_its_distribution_given_that_it_is_met() -> None:
    space = Space([Ordinal("a", (0, 1, 2)), Ordinal("b", (0, 1, 2, 3))], ["a + b >= 3"])
    rng = np.random.default_rng(0)
    mutants = [mutate({"a": 1, "b": 2}, ties_of(space), 0.5, rng) for _ in range(8000)]
    seen = Counter((mutant["a"], mutant["b"]) for mutant in mutants)
    of_a, of_b = line_walk(3, 1, 0.5), line_walk(4, 2, 0.5)
    allowed = {(a, b): of_a[a] * of_b[b] for a in range(3) for b in range(4) if a + b >= 3}
    assert seen.keys() == allowed.keys()
    for pair, probability in allowed.items():
        expected = probability / sum(allowed.values())
        assert seen[pair] / 8000 == pytest.approx(expected, abs=0.02)


def test_a_mutation_leaves_the_child_alone() -> None:
    child = dict.fromkeys(NAMES, 5)
    mutants = [mutate(child, ties_of(DIGITS), 0.9, np.random.default_rng(s)) for s in range(20)]
    assert child == config_of(5)
    assert any(mutant != child for mutant in mutants)
