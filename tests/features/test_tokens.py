"""Configs as sequences of tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.features import tokens as module
from tunesmith.features.tokens import Tokens
from tunesmith.features.vectors import Ints
from tunesmith.space import Categorical, Factorization, Ordinal, Parameter, Permutation, Space
from tunesmith.testing.trials import LARGE_SPACES, SMALL_SPACES, space_named

PARAMETERS: list[Parameter] = [
    Factorization("x", 72, 3),
    Factorization("x", 7, 1),
    Factorization("x", 1, 4),
    Permutation("p", ("i", "j", "k", "l")),
    Permutation("p", ("i",)),
    Ordinal("n", (5,)),
    Ordinal("n", tuple(range(7))),
    Ordinal("n", tuple(range(65))),
    Categorical("c", tuple(range(200))),
]


def uniform_draws(tokens: Tokens, count: int) -> Ints:
    """Sentences whose tokens are drawn in proportion to how many values go on with them."""
    rng = np.random.default_rng(0)
    drawn = np.zeros((count, len(tokens)), dtype=np.int32)
    for place in range(len(tokens)):
        ways = tokens.ways(drawn[:, :place])
        drawn[:, place] = (ways + rng.gumbel(size=ways.shape)).argmax(axis=1)
    return drawn


@pytest.mark.parametrize("name", [*LARGE_SPACES, *SMALL_SPACES])
def test_what_is_written_can_be_read(name: str) -> None:
    space = space_named(name)
    tokens = Tokens(space)
    for config in space.sample_many(50, np.random.default_rng(0)):
        sentence = tokens.write(config)
        assert sentence.shape == (len(tokens),)
        assert tokens.read(sentence) == config


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_each_sentence_is_another_value(parameter: Parameter) -> None:
    space = Space([parameter])
    tokens = Tokens(space)
    sentences = [tuple(tokens.write(config).tolist()) for config in space.enumerate()]
    assert len(set(sentences)) == parameter.cardinality


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_drawn_by_how_many_values_go_on_all_values_are_equally_likely(parameter: Parameter) -> None:
    space = Space([parameter])
    tokens = Tokens(space)
    for config in space.enumerate():
        sentence = tokens.write(config)[None]
        likely = 0.0
        for place in range(len(tokens)):
            [ways] = tokens.ways(sentence[:, :place])
            likely += ways[sentence[0, place]] - np.logaddexp.reduce(ways)
        assert likely == pytest.approx(-math.log(parameter.cardinality), abs=1e-9)


@pytest.mark.parametrize("name", LARGE_SPACES)
def test_whatever_is_drawn_is_a_config(name: str) -> None:
    space = Space(space_named(name).parameters)
    tokens = Tokens(space)
    configs = [tokens.read(sentence) for sentence in uniform_draws(tokens, 200)]
    assert all(space.contains(config) for config in configs)
    assert len(set(configs)) > 50


# --- Constraints


@pytest.mark.parametrize("name", ["constrained", "few valid"])
def test_what_constraints_rule_out_is_masked(name: str) -> None:
    space = space_named(name)
    tokens = Tokens(space)
    drawn = {tokens.read(sentence) for sentence in uniform_draws(tokens, 2000)}
    assert all(space.contains(config) for config in drawn)
    assert len(drawn) > 1000 or drawn == set(space.enumerate())


def test_tokens_are_masked_by_hand() -> None:
    space = Space(
        [Ordinal("n", (1, 2, 4)), Categorical("free", ("a", "b")), Factorization("x", 16, 2)],
        ["x[0] * n <= 8"],
    )
    tokens = Tokens(space)

    def counts(*begun: int) -> list[int]:
        [ways] = tokens.ways(np.array([begun], dtype=np.int32))
        rounded: list[int] = np.exp(ways).round().astype(int).tolist()
        return rounded

    # x[0] may be 1, 2, 4, 8 for n = 1, and has one value less for 2, two less for 4.
    assert counts() == [4, 3, 2, 0, 0]
    assert counts(1) == [1, 1, 1, 0, 0]
    assert counts(0, 0) == [1, 1, 0, 0, 0]


def test_values_in_several_digits_are_masked_too() -> None:
    space = Space([Ordinal(name, tuple(range(200))) for name in "ab"], ["a == 2 * b"])
    tokens = Tokens(space)
    assert len(tokens) == 4
    drawn = [tokens.read(sentence) for sentence in uniform_draws(tokens, 500)]
    assert all(config["a"] == 2 * int(str(config["b"])) for config in drawn)


@pytest.mark.parametrize("limit", ["_MOST_VALUES", "_MOST_COMBINATIONS"])
def test_where_there_are_too_many_combinations_constraints_are_left_out(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, 3)
    space = space_named("constrained")
    tokens = Tokens(space)
    configs = [tokens.read(sentence) for sentence in uniform_draws(tokens, 300)]
    assert all(Space(space.parameters).contains(config) for config in configs)
    assert not all(space.contains(config) for config in configs)


def test_where_no_config_is_valid_constraints_are_left_out() -> None:
    space = Space([Ordinal("a", (1, 2)), Ordinal("b", (1, 2))], ["a + b == 9"])
    assert np.exp(Tokens(space).ways(np.zeros((1, 0), dtype=np.int32))).tolist() == [[1.0, 1.0]]


def test_parameters_of_a_single_value_take_no_place() -> None:
    space = Space([Ordinal("a", (3,)), Ordinal("b", (1, 2, 3)), Ordinal("c", (4,))], ["a >= b"])
    tokens = Tokens(space)
    assert len(tokens) == 1
    assert {tokens.read(sentence) for sentence in uniform_draws(tokens, 50)} == set(
        space.enumerate()
    )
    assert len(Tokens(Space([Ordinal("a", (3,)), Ordinal("b", (1,))], ["a >= b"]))) == 0


# --- Places


def test_a_gemm_takes_a_token_for_each_part_but_the_last() -> None:
    space = Space([Factorization("m", 1024, 4), Factorization("k", 1024, 2)])
    tokens = Tokens(space)
    [config] = space.sample_many(1, np.random.default_rng(0))
    sentence = tokens.write(config.replace(m=(16, 4, 1, 16), k=(2, 512)))
    assert sentence.tolist() == [4, 2, 0, 1]
    assert tokens.most == 11


def test_tokens_are_few_however_many_values_there_are() -> None:
    space = Space(
        [
            Ordinal("n", tuple(range(64))),
            Ordinal("more", tuple(range(5000))),
            Categorical("many", tuple(range(70_000))),
            Factorization("x", 1 << 40, 3),
        ]
    )
    tokens = Tokens(space)
    # Three digits to base 18 (18^3 = 5832), three to base 42 (42^3 = 74,088), two parts of 2^40.
    sizes = [place.size for place in tokens.places]
    assert sizes == [64, *(16, 18, 18), *(40, 42, 42), *(41, 41)]
    assert tokens.most == 64


def test_a_part_gets_no_more_than_is_left() -> None:
    tokens = Tokens(Space([Factorization("x", 16, 3)]))
    ways = tokens.ways(np.array([[1], [4]], dtype=np.int32))
    assert np.isfinite(ways).tolist() == [[True] * 4 + [False], [True] + [False] * 4]


def test_an_item_comes_once() -> None:
    tokens = Tokens(Space([Permutation("p", ("i", "j", "k"))]))
    assert np.isfinite(tokens.ways(np.array([[2]], dtype=np.int32))).tolist() == [
        [True, True, False]
    ]
