"""The fixed list of moves between configs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tunesmith.features import moves as module
from tunesmith.features.moves import Moves, Numbers
from tunesmith.features.vectors import Ints
from tunesmith.space import Categorical, Factorization, Ordinal, Parameter, Permutation, Space
from tunesmith.testing.trials import LARGE_SPACES, space_named

KINDS: list[Parameter] = [
    Factorization("x", 360, 3),
    Permutation("p", ("i", "j", "k", "l")),
    Ordinal("n", (1, 2, 4, 8, 16)),
    Categorical("c", tuple("abcdefg")),
]


def all_states(moves: Moves) -> list[Ints]:
    space = moves.vectors.space
    return [moves.vectors.vector(config) for config in space.enumerate()]


def steps_from(moves: Moves, state: Ints) -> tuple[Ints, Numbers]:
    """All states that one move leads to, and the moves there."""
    there = np.flatnonzero(moves.possible(state[None])[0])
    return moves.step(np.repeat(state[None], len(there), axis=0), there), there


# --- Forwards


@pytest.mark.parametrize("name", LARGE_SPACES)
def test_moves_lead_to_just_the_neighbours(name: str) -> None:
    full = space_named(name)
    space = Space(full.parameters)
    moves = Moves(space)
    for config in space.sample_many(20, np.random.default_rng(0)):
        ends, _ = steps_from(moves, moves.vectors.vector(config))
        reached = [moves.vectors.config(end) for end in ends]
        assert set(reached) == set(space.neighbours(config))
        assert len(reached) == len(set(reached))


def test_the_actions_of_a_gemm_are_the_papers() -> None:
    space = Space([Factorization("m", 64, 4), Factorization("k", 64, 2), Factorization("n", 64, 4)])
    moves = Moves(space)
    assert len(moves) == 12 + 2 + 12  # equation 6: ordered pairs of parts
    config = next(space.enumerate()).replace(m=(4, 16, 1, 1), k=(64, 1), n=(1, 1, 1, 64))
    ends, _ = steps_from(moves, moves.vectors.vector(config))
    reached = {moves.vectors.config(end)["m"] for end in ends}
    assert (8, 8, 1, 1) in reached
    assert (2, 32, 1, 1) in reached
    assert (4, 8, 1, 2) in reached


def test_a_move_without_effect_is_not_possible() -> None:
    moves = Moves(Space([Ordinal("n", (1, 2, 3))]))
    states = np.array([[0], [1], [2]], dtype=np.int32)
    assert moves.possible(states).sum(axis=1).tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    "parameter",
    [
        Factorization("x", 1, 3),
        Factorization("x", 64, 1),
        Ordinal("n", (5,)),
        Permutation("p", (1,)),
    ],
)
def test_a_parameter_with_a_single_value_has_no_moves(parameter: Parameter) -> None:
    moves = Moves(Space([parameter, Categorical("c", ("only",))]))
    assert len(moves) == 0


# --- There and back


def assert_undone(moves: Moves, state: Ints) -> None:
    ends, there = steps_from(moves, state)
    assert len(there) > 0
    back = moves.back(np.repeat(state[None], len(there), axis=0), there)
    assert moves.possible(ends)[np.arange(len(ends)), back].all()
    assert (moves.step(ends, back) == state).all()


@pytest.mark.parametrize("name", LARGE_SPACES)
def test_each_move_has_one_that_leads_back(name: str) -> None:
    moves = Moves(space_named(name))
    for config in moves.vectors.space.sample_many(20, np.random.default_rng(0)):
        assert_undone(moves, moves.vectors.vector(config))


@pytest.mark.parametrize("parameter", KINDS)
def test_few_moves_can_be_undone_too(parameter: Parameter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_MOVES", 0)
    moves = Moves(Space([parameter]))
    for state in all_states(moves):
        assert_undone(moves, state)


def test_a_batch_takes_each_states_own_step_and_leaves_the_states_alone() -> None:
    moves = Moves(Space(KINDS))
    configs = moves.vectors.space.sample_many(60, np.random.default_rng(1))
    states = np.array([moves.vectors.vector(config) for config in configs])
    before = states.copy()
    chosen = moves.possible(states).cumsum(axis=1).argmax(axis=1)  # the last one possible
    together = moves.step(states, chosen)
    assert (states == before).all()
    for state, move, end in zip(states, chosen, together, strict=True):
        assert (moves.step(state[None], np.array([move]))[0] == end).all()


# --- Bounds


@pytest.mark.parametrize("parameter", KINDS)
def test_every_value_can_be_reached_by_few_moves(
    parameter: Parameter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_MOVES", 0)
    moves = Moves(Space([parameter]))
    start = moves.vectors.vector(next(moves.vectors.space.enumerate()))
    reached = {start.tobytes()}
    border = [start]
    while border:
        ends = {end.tobytes(): end for state in border for end in steps_from(moves, state)[0]}
        border = [end for key, end in ends.items() if key not in reached]
        reached |= ends.keys()
    assert len(reached) == parameter.cardinality


def test_few_moves_are_fewer() -> None:
    huge: list[Parameter] = [
        Factorization("x", 2**20 * 3**5 * 5 * 7, 32),
        Permutation("p", tuple(range(60))),
        Categorical("c", tuple(range(5000))),
    ]
    for parameter in huge:
        assert 0 < len(Moves(Space([parameter]))) <= 512
    # Four primes between 31 pairs of parts in both directions; 59 swaps; turns by 2^0 … 2^12.
    assert len(Moves(Space(huge))) == 4 * 2 * 31 + 59 + 2 * 13


def test_only_the_longest_list_is_shortened_if_that_is_enough() -> None:
    space = Space([Categorical("c", tuple(range(600))), Permutation("p", tuple(range(6)))])
    assert len(Moves(space)) == 2 * 10 + 15


# --- Features


@pytest.mark.parametrize("parameter", [*KINDS, Categorical("c", tuple(range(100)))])
def test_features_tell_values_apart_and_are_normalised(parameter: Parameter) -> None:
    moves = Moves(Space([parameter]))
    features = moves.encode(np.array(all_states(moves)))
    assert features.shape == (parameter.cardinality, moves.features)
    assert features.dtype == np.float32
    assert features.min() == -0.5
    assert features.max() == 0.5
    assert len(np.unique(features, axis=0)) == parameter.cardinality


def test_the_features_of_a_tiling_are_shares_of_the_exponents() -> None:
    moves = Moves(Space([Factorization("x", 16, 3)]))
    state = moves.vectors.vector({"x": (2, 8, 1)})
    assert moves.encode(state[None]).tolist() == [[0.25 - 0.5, 0.75 - 0.5, -0.5]]


def test_categories_are_one_hot_if_they_are_few_and_digits_if_they_are_many() -> None:
    sizes = {
        count: Moves(Space([Categorical("c", tuple(range(count)))])).features
        for count in (3, 16, 17)
    }
    assert sizes == {3: 3, 16: 16, 17: 5}


def test_features_of_several_parameters_stand_side_by_side() -> None:
    moves = Moves(Space(KINDS))
    singles = [Moves(Space([parameter])) for parameter in KINDS]
    assert moves.features == sum(single.features for single in singles)
    configs = moves.vectors.space.sample_many(200, np.random.default_rng(0))
    states = np.array([moves.vectors.vector(config) for config in configs])
    features = moves.encode(states)
    for a, b in itertools.pairwise(range(len(states))):
        assert (features[a] == features[b]).all() == (states[a] == states[b]).all()
    for single, parameter in zip(singles, KINDS, strict=True):
        own = [
            single.vectors.vector({parameter.name: config[parameter.name]}) for config in configs
        ]
        for column in single.encode(np.array(own)).T:
            assert any(np.array_equal(column, each) for each in features.T), parameter.name
