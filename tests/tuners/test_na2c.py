"""N-A2C."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.tuners.checks import assert_refused, assert_searches_huge_parameters
from tunesmith.features.moves import Bools
from tunesmith.features.vectors import Floats, Reals
from tunesmith.space import Config, Factorization, Ordinal, Space
from tunesmith.testing.trials import (
    assert_fresh,
    distance_cost,
    drive,
    failed,
    measured,
    space_named,
)
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners.na2c import NA2C, NA2CSearch
from tunesmith.tuners.neural.actor_critic import Transitions

pytest.importorskip("torch", reason="PyTorch is not installed")

LINE = Space([Ordinal("n", tuple(range(40)))])
GEMM = Space(
    [Factorization("m", 1024, 4), Factorization("k", 1024, 2), Factorization("n", 1024, 4)]
)


class TestNA2C(TunerConformance):
    tuner = NA2C(updates=8)
    learns = True
    trials = 72  # twelve batches


class TestShortWalksFromARandomConfig(TunerConformance):
    tuner = NA2C(start_at="random", steps=1, first_steps=1, patience=1, batch=2, memory=16)
    trials = 36  # it trains after every two


def at(n: int) -> Config:
    return Config({"n": n})


def line_search(**options: object) -> NA2CSearch:
    return NA2C(**options).start(LINE, 0)  # type: ignore[arg-type] # the keys are its own


# --- Constants


def test_the_defaults_are_the_papers_and_those_of_the_public_implementation() -> None:
    settings = NA2C()
    assert (settings.steps, settings.start_at) == (3, "untiled")
    assert (settings.hidden, settings.learning_rate) == (128, 1e-3)
    assert (settings.exploration, settings.batch) == (0.1, 6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"steps": 0}, "steps must be 1 or more, not 0"),
        ({"first_steps": 2}, "first_steps must be at least steps (3), not 2"),
        ({"patience": 0}, "patience must be 1 or more, not 0"),
        ({"batch": -1}, "batch must be 1 or more, not -1"),
        ({"memory": 0}, "memory must be 1 or more, not 0"),
        ({"updates": 0}, "updates must be 1 or more, not 0"),
        ({"hidden": 0}, "hidden must be 1 or more, not 0"),
        ({"exploration": 1.5}, "exploration must be between 0 and 1, not 1.5"),
        ({"exploration": math.nan}, "exploration must be between 0 and 1, not nan"),
        ({"learning_rate": 0.0}, "learning_rate must be more than 0 and at most 1, not 0.0"),
        ({"discount": 1.0}, "discount must be 0 or more and less than 1, not 1.0"),
        ({"entropy": -0.1}, "entropy must be between 0 and 1, not -0.1"),
        ({"start_at": "tiled"}, "option start_at must be 'untiled' or 'random', not 'tiled'"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, object], reason: str) -> None:
    assert_refused(NA2C, options, reason)


# --- The centre and the walks around it


def test_it_begins_with_the_untiled_config_as_in_the_papers_experiments() -> None:
    [first] = NA2C().start(GEMM, 0).propose(1)
    assert first == {"m": (1024, 1, 1, 1), "k": (1024, 1), "n": (1024, 1, 1, 1)}


def test_it_can_begin_with_a_random_one() -> None:
    firsts = {NA2C(start_at="random").start(GEMM, seed).propose(1)[0] for seed in range(5)}
    assert len(firsts) == 5


def test_walks_stay_within_their_steps_of_the_centre() -> None:
    search = NA2C(start_at="random", steps=2, first_steps=2, patience=1000).start(GEMM, 0)
    [centre] = search.propose(1)
    search.observe([measured(centre, 1.0)])
    configs = search.propose(20)
    search.observe([measured(config, 2.0) for config in configs])
    configs += search.propose(20)
    assert {GEMM.distance(centre, config) for config in configs} == {1, 2}


def test_it_goes_on_from_what_works_already() -> None:
    search = NA2C(steps=1, first_steps=1).start(GEMM, 0)
    default = GEMM.sample(np.random.default_rng(0))
    search.observe([measured(default, 1.0)])
    assert {GEMM.distance(default, config) for config in search.propose(5)} == {1}


def test_the_centre_moves_to_the_best_config_at_the_end_of_an_episode() -> None:
    search = line_search(batch=3)
    first = search.centre.tolist()
    search.observe([measured(at(7), 2.0), measured(at(8), 1.5)])
    assert search.centre.tolist() == first
    search.observe([failed(at(9))])
    assert (search.centre.tolist(), search.best) == ([8], 1 / 1.5)
    search.observe([measured(at(20), 1.0), measured(at(21), 1.0), measured(at(22), 3.0)])
    assert search.centre.tolist() == [20]
    search.observe([measured(at(30), 1.0), failed(at(31)), measured(at(32), 2.0)])
    assert search.centre.tolist() == [20]


def test_proposals_are_around_the_new_centre_at_once() -> None:
    search = NA2C(steps=1, first_steps=1).start(GEMM, 0)
    search.observe([measured(config, 2.0) for config in search.propose(5)])
    best = Config({"m": (8, 8, 4, 4), "k": (128, 8), "n": (8, 4, 8, 4)})
    search.observe([measured(best, 1.0)])
    assert all(GEMM.distance(best, config) == 1 for config in search.propose(6))


def test_while_all_fails_each_episode_has_another_centre() -> None:
    search = NA2C(batch=4).start(GEMM, 0)
    centres = []
    for _ in range(5):
        search.observe([failed(config) for config in search.propose(4)])
        centres.append(tuple(search.centre.tolist()))
    assert len(set(centres)) == 5
    assert search.best == 0.0


def test_steps_are_many_at_first_and_fewer_each_episode() -> None:
    search = NA2C(steps=3, first_steps=6, batch=2, patience=100).start(GEMM, 0)
    lengths = [search.walk_length]
    for seconds in (6.0, 5.0, 4.0, 3.0, 2.0):
        search.observe([measured(config, seconds) for config in search.propose(2)])
        lengths.append(search.walk_length)
    assert lengths == [6, 5, 4, 3, 3, 3]


def test_steps_grow_while_the_centre_stays_and_fall_back_when_it_moves() -> None:
    search = NA2C(steps=3, first_steps=3, batch=2, patience=2).start(LINE, 0)
    lengths = []
    # The first config, at 0, is the best; then nothing is, for five episodes; then the last is.
    for n, seconds in enumerate((1.0, *[2.0] * 5, 0.5)):
        search.observe([measured(at(2 * n), seconds), measured(at(2 * n + 1), 3.0)])
        lengths.append(search.walk_length)
    assert search.centre.tolist() == [12]
    assert lengths == [3, 4, 4, 5, 5, 6, 3]


def test_a_neighbourhood_that_is_used_up_makes_walks_longer() -> None:
    search = line_search(steps=1, first_steps=1)
    search.observe([measured(at(n), 1.0 + abs(n - 20)) for n in range(10, 31)])
    before = search.walk_length
    assert_fresh(LINE, search.propose(3))
    assert search.walk_length > before


def count_policies(search: NA2CSearch, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows whenever the actor is asked."""
    asked: list[int] = []
    policy = search.networks.policy

    def counted(features: Floats, possible: Bools) -> Reals:
        asked.append(1)
        return policy(features, possible)

    monkeypatch.setattr(search.networks, "policy", counted)
    return asked


def test_all_actions_are_random_where_it_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    search = NA2C(exploration=1.0).start(GEMM, 0)
    asked = count_policies(search, monkeypatch)
    search.propose(40)
    assert asked == []


def test_one_action_in_ten_is_random(monkeypatch: pytest.MonkeyPatch) -> None:
    search = NA2C().start(GEMM, 0)
    asked = count_policies(search, monkeypatch)
    for _ in range(1000):
        search._action_weights()
    assert 865 <= len(asked) <= 935  # 900 are expected, with a standard deviation of 9.5


def test_walks_pass_through_invalid_configs_where_no_neighbour_is_valid() -> None:
    space = Space([Ordinal("a", tuple(range(64))), Ordinal("b", tuple(range(64)))], ["a == b"])
    search = NA2C(steps=2, first_steps=2, batch=1).start(space, 0)
    search.observe([measured(Config({"a": 30, "b": 30}), 1.0)])
    near = search.propose(2)
    assert {config["a"] for config in near} == {29, 31}


# --- What it learns from


@pytest.mark.parametrize("seed", range(3))
def test_rewards_go_to_the_right_states_in_whichever_order_results_come(seed: int) -> None:
    results = [measured(at(n), 1.0 / (n + 1)) for n in range(10, 20)]
    results[4] = failed(at(14))
    search = line_search()
    for place in np.random.default_rng(seed).permutation(10):
        search.observe([results[place]])
    before, actions, speeds, after = search.memory.draw(500, np.random.default_rng(0))
    assert len(actions) == 500
    assert ((after - before)[:, 0] == 2 * actions - 1).all()  # action 0 is down, 1 is up
    assert set(zip(after[:, 0].tolist(), speeds.tolist(), strict=True)) == {
        (n, 0.0 if n == 14 else 1.0 / (1.0 / (n + 1))) for n in range(10, 20)
    }


def record_training(search: NA2CSearch, monkeypatch: pytest.MonkeyPatch) -> list[Transitions]:
    """A list that grows by what the networks would be trained on."""
    batches: list[Transitions] = []
    monkeypatch.setattr(search.networks, "train", batches.append)
    return batches


def test_networks_are_trained_on_shares_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    search = line_search(batch=2, updates=3)
    batches = record_training(search, monkeypatch)
    search.observe([measured(at(10), 0.5), measured(at(11), 0.125)])
    search.propose(1)
    assert len(batches) == 3
    for batch in batches:
        after = (batch.next_features[:, 0] + 0.5) * 39
        assert batch.rewards.tolist() == [0.25 if round(n) == 10 else 1.0 for n in after.tolist()]
        before = (batch.features[:, 0] + 0.5) * 39
        assert (after - before).round().astype(int).tolist() == (2 * batch.actions - 1).tolist()


def test_many_records_at_once_cost_little_training(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space([Ordinal("n", tuple(range(4000)))])
    records = list(space.enumerate())[:2000]
    search = NA2C(updates=2).start(space, 0)
    trained = record_training(search, monkeypatch)
    search.observe([measured(config, 1.0) for config in records])
    assert trained == []
    search.propose(1)
    assert [len(batch.actions) for batch in trained] == [64] * 32
    search.propose(1)
    assert len(trained) == 32


# --- Learning


def uphill(search: NA2CSearch, n: int) -> float:
    """The actor's probability of the step from n to n + 1."""
    state = np.array([[n]], dtype=np.int32)
    [down, up] = search.networks.policy(search.moves.encode(state), search.moves.possible(state))[0]
    assert down + up == pytest.approx(1.0)
    return float(up)


def mean_uphill(slope: float) -> float:
    """What the actor thinks of the steps up, trained on a line that is as fast as it says."""
    search = line_search(updates=100, batch=30, entropy=0.01)
    speeds = [(n, 20 + slope * (n - 20)) for n in range(40) if n % 8]
    search.observe([measured(at(n), 1.0 / speed) for n, speed in speeds])
    for _ in range(4):
        search._untrained = 1
        search.propose(1)
    return float(np.mean([uphill(search, n) for n in range(5, 35)]))


def test_the_actor_comes_to_prefer_what_is_rewarded() -> None:
    assert mean_uphill(0.9) > 0.7
    assert mean_uphill(-0.9) < 0.3


# The space of a product of 1024x1024 matrices, and a smooth bowl over it.
PRODUCT = Space(
    [
        Factorization("tile_m", 1024, 4),
        Factorization("tile_k", 1024, 2),
        Factorization("tile_n", 1024, 4),
    ]
)
LOWEST = {"tile_m": (8, 4, 8, 4), "tile_k": (64, 16), "tile_n": (4, 8, 4, 8)}


def height(config: Config) -> float:
    """The seconds of a config: more, the further its tiles are from the lowest, in octaves."""
    apart = [
        math.log2(part / goal)
        for name, goals in LOWEST.items()
        for part, goal in zip(_parts(config[name]), goals, strict=True)
    ]
    return 1.0 + 0.05 * sum(octaves**2 for octaves in apart)


def _parts(value: object) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return value


def on_the_bowl(trials: int, seed: int, **options: float) -> list[float]:
    """The lowest that a search has found after each of so many trials."""
    search = NA2C(**options).start(PRODUCT, seed)  # type: ignore[arg-type] # its own
    return list(itertools.accumulate(go_down(search, trials), min))


def go_down(search: NA2CSearch, trials: int) -> list[float]:
    """Go on with a search for so many trials; the height of each."""
    found: list[float] = []
    for _ in range(trials):
        (config,) = search.propose(1)
        found.append(height(config))
        search.observe([measured(config, found[-1])])
    return found


def ranking(search: NA2CSearch) -> float:
    """How the actor's probabilities of actions rank with the speeds that these lead to: the mean
    rank correlation over measured states."""
    found = []
    for place in np.random.default_rng(0).integers(len(search.memory), size=12):
        state = search.memory._states[place][None]
        possible = search.moves.possible(state)
        actions = np.flatnonzero(possible[0])
        policy = search.networks.policy(search.moves.encode(state), possible)[0, actions]
        onward = search.moves.step(np.repeat(state, len(actions), axis=0), actions)
        speeds = [1.0 / height(search.moves.vectors.config(each)) for each in onward]
        ranks = np.array([np.argsort(np.argsort(each)) for each in (policy, speeds)])
        found.append(np.corrcoef(ranks)[0, 1])
    return float(np.mean(found))


def test_it_ranks_actions_as_they_are_rewarded() -> None:
    """After 50, 100 and 150 trials."""
    searches = [NA2C().start(PRODUCT, seed) for seed in range(4)]
    for trials in (50, 100, 150):
        for search in searches:
            go_down(search, 50)
        assert np.mean([ranking(search) for search in searches]) > 0.2, trials


def test_it_is_no_worse_than_random_actions() -> None:
    """Over 20 seeds, by the lowest that each has found after 60 and 100 trials, and on the whole.

    A seed's ratio spreads by a factor of 1.3, so the mean of 20 by 7 %: twice that is the bound.
    """
    # Networks that are asked for no action need not learn.
    ways = {"exploration": 0.1}, {"exploration": 1.0, "updates": 1}
    found = np.array([[on_the_bowl(100, seed, **way) for seed in range(20)] for way in ways])
    ratios = np.log(found[0] / found[1])
    for trials in (60, 100):
        apart = ratios[:, trials - 1]
        assert apart.mean() < 2.0 * apart.std(ddof=1) / math.sqrt(20)
    assert ratios[:, 39:].mean() < 0.15


def test_it_comes_near_the_best_of_a_mixed_space() -> None:
    space = space_named("mixed")
    cost = distance_cost(space)
    proposed = drive(NA2C().start(space, 0), 300, lambda c: measured(c, cost(c)), batch=6)
    assert min(map(cost, proposed)) <= 2.0


def test_huge_parameters_are_searched_too() -> None:
    assert_searches_huge_parameters(NA2C(), trials=60)
