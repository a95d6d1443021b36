"""Configs as vectors of integers."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.features.vectors import Vectors
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Permutation, Space
from tunesmith.testing.trials import LARGE_SPACES, SMALL_SPACES, space_named


@pytest.mark.parametrize("name", [*LARGE_SPACES, *SMALL_SPACES])
def test_a_vector_gives_its_config_back(name: str) -> None:
    space = space_named(name)
    vectors = Vectors(space)
    for config in space.sample_many(50, np.random.default_rng(0)):
        vector = vectors.vector(config)
        assert vectors.config(vector) == config
        assert ((vector >= 0) & (vector < vectors.sizes)).all()


def test_elements_are_exponents_places_and_numbers() -> None:
    space = Space(
        [
            Factorization("x", 12, 2),
            Permutation("order", ("i", "j", "k")),
            Ordinal("n", (16, 4, 8)),
            Categorical("c", ("b", "a")),
        ]
    )
    config = Config({"x": (6, 2), "order": ("k", "i", "j"), "n": 8, "c": "a"})
    vectors = Vectors(space)
    # 6 = 2^1 3^1 and 2 = 2^1 3^0; ordinals are numbered in ascending order.
    assert vectors.vector(config).tolist() == [1, 1, 1, 0, 2, 0, 1, 1, 1]
    assert vectors.sizes.tolist() == [3, 2, 3, 2, 3, 3, 3, 3, 2]


def test_values_that_python_takes_for_equal_are_told_apart() -> None:
    space = Space([Categorical("c", (1, "1", 2.5)), Permutation("p", (1, "1", 2))])
    vectors = Vectors(space)
    for config in space.enumerate():
        assert vectors.config(vectors.vector(config)).key == config.key


def test_it_says_which_vectors_meet_the_constraints() -> None:
    space = Space([Ordinal("a", (1, 2, 3)), Ordinal("b", (1, 2, 3))], ["a * b <= 4"])
    vectors = Vectors(space)
    assert vectors.meets_constraints(vectors.config(np.array([1, 1], dtype=np.int32)))
    assert not vectors.meets_constraints(vectors.config(np.array([1, 2], dtype=np.int32)))
