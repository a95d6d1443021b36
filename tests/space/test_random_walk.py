"""The q-random walk of OpEvo, section 4.3, against its exact distribution."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import SpaceError
from tunesmith.space import Categorical, Factorization, Ordinal, Parameter, Permutation, Value

from .strategies import parameters


def walk_distribution(parameter: Parameter, start: Value, q: float) -> npt.NDArray[np.float64]:
    """The probability of stopping at each value.

    Equation 3 is the matrix q·A with A the uniform step to a neighbour; a walk stops after each
    number of steps with probability 1 - q, so the distribution is (1 - q) (I - q·A)^-1.
    """
    size = parameter.cardinality
    steps = np.zeros((size, size))
    for index in range(size):
        around = parameter.neighbours(parameter.value_at(index))
        for near in around:
            steps[index, parameter.index_of(near)] += 1 / len(around)
    start_row = np.eye(size)[parameter.index_of(start)]
    return np.asarray((1 - q) * np.linalg.solve(np.eye(size) - q * steps.T, start_row))


@pytest.mark.parametrize("q", [0.2, 0.5, 0.9])
@pytest.mark.parametrize(
    ("parameter", "start"),
    [
        (Factorization("m", 8, 3), (2, 2, 2)),
        (Factorization("m", 8, 3), (8, 1, 1)),
        (Permutation("order", ["a", "b", "c"]), ("c", "a", "b")),
        (Ordinal("unroll", [0, 4, 16, 64]), 4),
        (Categorical("layout", ["x", "y", "z"]), "y"),
    ],
    ids=["centre", "corner", "permutation", "ordinal", "categorical"],
)
def test_walks_stop_with_the_exact_probabilities(
    parameter: Parameter, start: Value, q: float
) -> None:
    expected = 4000 * walk_distribution(parameter, start, q)
    assert expected.sum() == pytest.approx(4000)
    rng = np.random.default_rng(11)
    counts = np.zeros(parameter.cardinality)
    for _ in range(4000):
        counts[parameter.index_of(parameter.random_walk(start, q, rng))] += 1
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    freedom = parameter.cardinality - 1
    assert chi_square < freedom + 4 * (2 * freedom) ** 0.5


@given(parameters(), st.data())
def test_a_walk_stays_inside_and_with_q_zero_at_its_start(
    parameter: Parameter, data: st.DataObject
) -> None:
    start = parameter.value_at(data.draw(st.integers(0, parameter.cardinality - 1)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    assert parameter.contains(parameter.random_walk(start, 0.7, rng))
    assert parameter.random_walk(start, 0.0, rng) == start


@pytest.mark.parametrize("q", [-0.1, 1.0, 1.5, float("nan")])
def test_probabilities_that_would_never_stop_are_refused(q: float) -> None:
    with pytest.raises(SpaceError, match="random walk: q is"):
        Ordinal("x", [1, 2]).random_walk(1, q, np.random.default_rng(0))


def test_a_walk_starts_at_a_value_of_the_parameter() -> None:
    with pytest.raises(SpaceError, match="parameter 'x' has no value 3"):
        Ordinal("x", [1, 2]).random_walk(3, 0.5, np.random.default_rng(0))
