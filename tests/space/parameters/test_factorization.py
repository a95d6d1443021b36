"""Factorizations: sizes beyond enumeration, the paper's example, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import SpaceError
from tunesmith.space import Factorization
from tunesmith.space.parameters.factorization import MAX_PARTS, MAX_PRODUCT, prime_exponents

large = st.builds(
    Factorization,
    st.just("m"),
    product=st.integers(1, MAX_PRODUCT) | st.just(MAX_PRODUCT),
    parts=st.integers(1, MAX_PARTS),
)


def test_the_neighbours_of_figure_1a() -> None:
    tile = Factorization("m", 8, 3)
    assert tile.cardinality == 10
    assert set(tile.neighbours((2, 2, 2))) == {
        *[(4, 1, 2), (4, 2, 1), (1, 4, 2), (2, 4, 1), (1, 2, 4), (2, 1, 4)]
    }
    assert set(tile.neighbours((8, 1, 1))) == {(4, 2, 1), (4, 1, 2)}


def test_each_prime_moves_by_itself() -> None:
    tile = Factorization("m", 12, 2)
    assert set(tile.neighbours((6, 2))) == {(3, 4), (2, 6), (12, 1)}
    assert tile.distance((12, 1), (1, 12)) == 3
    assert tile.distance((4, 3), (3, 4)) == 3


@pytest.mark.parametrize(
    ("product", "parts", "values"),
    [(1, 1, [(1,)]), (1, 3, [(1, 1, 1)]), (7, 1, [(7,)]), (7, 2, [(1, 7), (7, 1)])],
)
def test_smallest_cases(product: int, parts: int, values: list[tuple[int, ...]]) -> None:
    tile = Factorization("m", product, parts)
    assert [tile.value_at(index) for index in range(tile.cardinality)] == values
    if len(values) == 1:
        assert tile.neighbours(values[0]) == []


@given(st.integers(1, MAX_PRODUCT))
def test_primes(number: int) -> None:
    factors = prime_exponents(number)
    assert math.prod(prime**exponent for prime, exponent in factors) == number
    assert [prime for prime, _ in factors] == sorted({prime for prime, _ in factors})
    for prime, _ in factors:
        assert all(prime % divisor for divisor in range(2, min(prime, 1000)))


@given(large, st.data())
def test_values_of_spaces_beyond_enumeration(tile: Factorization, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, tile.cardinality - 1))
    value = tile.value_at(index)
    assert len(value) == tile.parts
    assert math.prod(value) == tile.product
    assert tile.index_of(value) == index


@given(large, st.integers(0, 2**32))
def test_columns_of_spaces_beyond_enumeration(tile: Factorization, seed: int) -> None:
    rng = np.random.default_rng(seed)
    indices = rng.integers(min(tile.cardinality, 1 << 62), size=5)
    columns = tile.columns(indices)
    assert isinstance(columns, tuple)
    rows = list(zip(*columns, strict=True))
    assert rows == [tile.value_at(index) for index in indices.tolist()]


def test_samples_of_a_huge_factorization_cover_all_its_numbers() -> None:
    tile = Factorization("m", 1 << 40, 64)
    assert tile.cardinality > 1 << 63
    rng = np.random.default_rng(3)
    shares = [tile.index_of(tile.sample(rng)) / tile.cardinality for _ in range(400)]
    counts = np.histogram(shares, bins=10, range=(0, 1))[0]
    assert float(((counts - 40) ** 2 / 40).sum()) < 27.9  # 0.1% of the chi-square with 9 freedoms


@pytest.mark.parametrize("product", [0, -8, 2.0, "8", None, True, MAX_PRODUCT + 1])
def test_products_that_are_refused(product: object) -> None:
    with pytest.raises(SpaceError, match="factorization 'm': product is"):
        Factorization("m", product, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("parts", [0, -1, 1.5, None, MAX_PARTS + 1])
def test_parts_that_are_refused(parts: object) -> None:
    with pytest.raises(SpaceError, match="factorization 'm': parts is"):
        Factorization("m", 8, parts)  # type: ignore[arg-type]


def test_numpy_integers_are_welcome() -> None:
    assert Factorization("m", np.int64(8), np.int32(2)) == Factorization("m", 8, 2)  # type: ignore[arg-type]
