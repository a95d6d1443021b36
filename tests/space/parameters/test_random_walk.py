"""The q-random walk of OpEvo, section 4.3, against its exact distribution."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.space.strategies import parameters
from tunesmith.errors import SpaceError
from tunesmith.space import Categorical, Factorization, Ordinal, Parameter, Permutation, Value

DRAWS = 20_000


def adjacent(parameter: Parameter, u: Value, v: Value) -> bool:
    """The adjacency functions of section 3, by definition rather than by the code under test."""
    if isinstance(parameter, Categorical):
        return u != v
    if isinstance(parameter, Ordinal):
        assert isinstance(u, int | float) and isinstance(v, int | float)
        return u != v and not any((w - u) * (w - v) < 0 for w in parameter.values)
    assert isinstance(u, tuple) and isinstance(v, tuple)
    changed = [(a, b) for a, b in zip(u, v, strict=True) if a != b]
    if isinstance(parameter, Permutation):
        return len(changed) == 2
    if len(changed) != 2:
        return False
    ratios = [max(Fraction(a, b), Fraction(b, a)) for a, b in changed]  # type: ignore[arg-type]
    z = ratios[0]
    prime = z.denominator == 1 and all(z.numerator % d for d in range(2, z.numerator))
    return prime and ratios[0] == ratios[1]


def walk_distribution(parameter: Parameter, start: Value, q: float) -> npt.NDArray[np.float64]:
    """The probability of stopping at each value.

    Equation 3 is the matrix q·A with A the uniform step to an adjacent vertex; a walk stops after
    each number of steps with probability 1 - q, so the distribution is (1 - q) (I - q·A)^-1.
    """
    size = parameter.cardinality
    values = [parameter.value_at(index) for index in range(size)]
    edges = np.array([[adjacent(parameter, u, v) for v in values] for u in values], dtype=float)
    steps = edges / edges.sum(axis=1, keepdims=True)
    return np.asarray((1 - q) * np.linalg.inv(np.eye(size) - q * steps)[values.index(start)])


def chi_square(counts: npt.NDArray[np.float64], expected: npt.NDArray[np.float64]) -> float:
    """Pearson's statistic in standard deviations over its mean; cells under 5 count as one."""
    rare = expected < 5
    pooled = np.append(expected[~rare], expected[rare].sum())
    seen = np.append(counts[~rare], counts[rare].sum())
    pooled, seen = pooled[pooled > 0], seen[pooled > 0]
    freedom = len(pooled) - 1
    return float((((seen - pooled) ** 2 / pooled).sum() - freedom) / (2 * freedom) ** 0.5)


@pytest.mark.parametrize("q", [0.2, 0.7])
@pytest.mark.parametrize(
    ("parameter", "start"),
    [
        (Factorization("m", 8, 3), (8, 1, 1)),
        (Factorization("m", 8, 3), (2, 2, 2)),
        (Factorization("m", 12, 3), (2, 6, 1)),
        (Factorization("m", 7, 2), (7, 1)),
        (Permutation("order", ["a", "b", "c"]), ("c", "a", "b")),
        (Permutation("order", [0, 1, 2, 3]), (3, 1, 0, 2)),
        (Ordinal("unroll", [1, 2, 3, 4]), 2),
        (Ordinal("unroll", [0, 4, 16, 64]), 64),
        (Ordinal("explicit", [0, 1]), 0),
        (Categorical("layout", ["a", "b", "c", "d", "e", "f"]), "b"),
        (Categorical("layout", ["x", "y"]), "y"),
    ],
    ids=str,
)
def test_walks_stop_with_the_exact_probabilities(
    parameter: Parameter, start: Value, q: float
) -> None:
    """Figure 1's graphs, figure 2's among them, and some more."""
    expected = DRAWS * walk_distribution(parameter, start, q)
    assert expected.sum() == pytest.approx(DRAWS)
    rng = np.random.default_rng(11)
    counts = np.zeros(parameter.cardinality)
    for _ in range(DRAWS):
        counts[parameter.index_of(parameter.random_walk(start, q, rng))] += 1
    assert not counts[expected == 0].any()
    assert chi_square(counts, expected) < 4


@pytest.mark.parametrize("q", [0.5, 0.7])
def test_figure_2_nearer_and_better_connected_values_are_likelier(q: float) -> None:
    parameter = Factorization("m", 8, 3)
    rng = np.random.default_rng(2)
    stops = [parameter.random_walk((8, 1, 1), q, rng) for _ in range(DRAWS)]
    share = {value: stops.count(value) / DRAWS for value in set(stops)}
    exact = walk_distribution(parameter, (8, 1, 1), q)
    for value, part in share.items():
        assert part == pytest.approx(exact[parameter.index_of(value)], abs=0.015)
    assert share[8, 1, 1] > share[4, 2, 1] > share[2, 2, 2] > share[1, 1, 8]
    assert share[2, 2, 2] > max(share[2, 4, 1], share[2, 1, 4])


@given(parameters())
def test_steps_go_to_every_neighbour_and_to_nothing_else(parameter: Parameter) -> None:
    rng = np.random.default_rng(0)
    for start in itertools.islice(map(parameter.value_at, range(parameter.cardinality)), 3):
        around = parameter.neighbours(start)
        if around:
            drawn = [parameter._random_neighbour(start, rng) for _ in range(40 * len(around))]
            assert {repr(value) for value in drawn} == {repr(value) for value in around}


@given(parameters(), st.data())
def test_a_walk_stays_inside_and_with_q_zero_at_its_start(
    parameter: Parameter, data: st.DataObject
) -> None:
    start = parameter.value_at(data.draw(st.integers(0, parameter.cardinality - 1)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    assert parameter.contains(parameter.random_walk(start, 0.7, rng))
    assert parameter.random_walk(start, 0.0, rng) == start


def test_a_walk_on_a_single_value_stays_there() -> None:
    rng = np.random.default_rng(0)
    for parameter in (Factorization("x", 1, 3), Factorization("x", 8, 1), Ordinal("x", [3])):
        start = parameter.value_at(0)
        assert all(parameter.random_walk(start, 0.9, rng) == start for _ in range(20))


@pytest.mark.parametrize("q", [-0.1, 1.0, 1.5, float("nan")])
def test_probabilities_that_would_never_stop_are_refused(q: float) -> None:
    with pytest.raises(SpaceError, match="random walk: q is"):
        Ordinal("x", [1, 2]).random_walk(1, q, np.random.default_rng(0))


def test_a_walk_starts_at_a_value_of_the_parameter() -> None:
    with pytest.raises(SpaceError, match="parameter 'x' has no value 3"):
        Ordinal("x", [1, 2]).random_walk(3, 0.5, np.random.default_rng(0))
