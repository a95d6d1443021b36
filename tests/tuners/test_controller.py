"""The RNN controller."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.tuners.checks import assert_refused, assert_searches_huge_parameters
from tunesmith.features import tokens
from tunesmith.features.vectors import Ints, Reals
from tunesmith.space import Config, Ordinal, Space
from tunesmith.testing.trials import (
    assert_fresh,
    distance_cost,
    drive,
    failed,
    measured,
    space_named,
)
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners.controller import Controller, ControllerSearch, MovingBaseline

pytest.importorskip("torch", reason="PyTorch is not installed")

DIGITS = Space([Ordinal(name, tuple(range(10))) for name in "abcdef"])


class TestController(TunerConformance):
    tuner = Controller()
    learns = True
    trials = 120  # several batches


class TestSmallBatches(TunerConformance):
    tuner = Controller(batch=2, hidden=8, learning_rate=1e-2, decay=0.5, entropy=0.0)
    trials = 72  # it trains after every two


def start(**options: float) -> ControllerSearch:
    return Controller(**options).start(DIGITS, 0)  # type: ignore[arg-type] # the keys are its own


def log_probabilities(search: ControllerSearch, *configs: Config) -> Reals:
    sentences = np.stack([search.tokens.write(config) for config in configs])
    chosen, _ = search.policy.evaluate(sentences)
    logs: Reals = chosen.detach().double().numpy()
    return logs


# --- Settings


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"batch": 0}, "batch must be 1 or more, not 0"),
        ({"hidden": 0}, "hidden must be 1 or more, not 0"),
        ({"learning_rate": 0.0}, "learning_rate must be more than 0 and at most 1, not 0.0"),
        ({"learning_rate": math.nan}, "learning_rate must be more than 0 and at most 1, not nan"),
        ({"decay": 1.0}, "decay must be 0 or more and less than 1, not 1.0"),
        ({"entropy": -0.1}, "entropy must be between 0 and 1, not -0.1"),
        ({"batch": 8.0}, "option batch must be int, not 8.0"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, float], reason: str) -> None:
    assert_refused(Controller, options, reason)


# --- Learning


def test_fast_configs_become_likelier_and_slow_ones_less_likely() -> None:
    search = start(batch=8, entropy=0.0)
    configs = search.propose(8)
    before = log_probabilities(search, *configs)
    search.observe([measured(config, 1.0 + (i >= 2)) for i, config in enumerate(configs)])
    search.propose(1)
    after = log_probabilities(search, *configs)
    assert all(now > then for now, then in zip(after[:2], before[:2], strict=True))
    assert sum(after[2:]) < sum(before[2:])


@pytest.mark.parametrize("seed", range(3))
def test_rewards_go_to_the_right_configs_in_whichever_order_results_come(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = start(batch=10)
    configs = search.propose(10)
    trained: dict[Config, float] = {}

    def train(sentences: Ints, advantages: Reals) -> None:
        trained.update(zip(map(search.tokens.read, sentences), advantages.tolist(), strict=True))

    monkeypatch.setattr(search.policy, "train", train)
    for place in np.random.default_rng(seed).permutation(10).tolist():
        config = configs[place]
        search.observe([measured(config, 1.0 / place) if place else failed(config)])
    search.propose(1)
    # Speeds 0 to 9, as shares of the best: their mean is 0.5, and their variance 0.0825 / 0.81.
    assert trained == pytest.approx(
        {config: (n / 9 - 0.5) / (0.0825 / 0.81) ** 0.5 for n, config in enumerate(configs)}
    )


def test_failures_alone_leave_the_policy_uniform() -> None:
    search = start()
    drive(search, 64, failed)
    assert log_probabilities(search, *search.propose(8)) == pytest.approx(-6 * math.log(10))


def test_it_trains_when_a_batch_is_complete_and_draws_anew() -> None:
    search = start(batch=4)
    configs = search.propose(5)
    search.observe([measured(config, 1.0 + i) for i, config in enumerate(configs[:3])])
    search.propose(1)
    assert search.baseline.mean is None
    search.observe([measured(config, 9.0) for config in configs[3:]])
    search.propose(1)
    assert search.baseline.mean is not None
    assert len(search._results) == 1


def test_a_policy_that_has_settled_on_known_configs_is_heated_until_it_has_others() -> None:
    space = Space([Ordinal(name, tuple(range(10))) for name in "abc"])
    search = Controller(batch=8, entropy=0.0).start(space, 0)
    [known] = space.sample_many(1, np.random.default_rng(0))
    search.observe([measured(known, 1.0)])
    for _ in range(60):
        search.policy.train(np.stack([search.tokens.write(known)] * 8), np.full(8, 3.0))
    assert np.exp(log_probabilities(search, known))[0] > 0.99
    proposed = search.propose(20)
    assert_fresh(space, [known, *proposed])
    assert search.temperature > 1.0
    # They are still near to what it has settled on.
    assert np.mean([sum(config[n] == known[n] for n in "abc") for config in proposed]) > 1.0
    search.observe([measured(config, 1.0) for config in proposed])
    search.temperature = 64.0
    search.propose(1)
    assert search.temperature == 16.0  # two batches


def test_records_of_an_earlier_run_are_learned_from() -> None:
    search = start()
    records = DIGITS.sample_many(1000, np.random.default_rng(0))
    search.observe([measured(config, 1.0 if config["a"] == 7 else 2.0) for config in records])
    proposed = search.propose(100)
    assert_fresh(DIGITS, records + proposed)
    assert sum(config["a"] == 7 for config in proposed) > 30  # ten by chance


def test_it_comes_near_the_best_of_a_mixed_space() -> None:
    space = space_named("mixed")
    cost = distance_cost(space)
    proposed = drive(Controller().start(space, 0), 600, lambda c: measured(c, cost(c)))
    assert min(map(cost, proposed)) <= 3.0


# --- Constraints and sizes


DIAGONAL = Space([Ordinal(name, tuple(range(1000))) for name in "ab"], ["a == b"])


def count_draws(search: ControllerSearch, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows whenever sentences are drawn."""
    draws: list[int] = []
    draw = search.policy.draw

    def counted(count: int, rng: np.random.Generator, temperature: float) -> Ints:
        draws.append(count)
        return draw(count, rng, temperature)

    monkeypatch.setattr(search.policy, "draw", counted)
    return draws


def test_what_breaks_a_constraint_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Controller().start(DIAGONAL, 0)
    draws = count_draws(search, monkeypatch)
    assert_fresh(DIAGONAL, search.propose(20))
    assert draws == [32]


def test_where_masks_would_be_too_large_it_is_drawn_again_so_many_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens, "_MOST_COMBINATIONS", 0)
    search = Controller().start(DIAGONAL, 0)
    draws = count_draws(search, monkeypatch)
    proposed = search.propose(20)
    assert_fresh(DIAGONAL, proposed)
    assert len(proposed) == 20
    assert 20 < len(draws) <= 4 * 20


def test_it_learns_in_a_space_with_few_valid_configs() -> None:
    space = Space([Ordinal(name, tuple(range(30))) for name in "abcd"], ["a + b + c + d == 58"])
    cost = distance_cost(space)
    proposed = drive(Controller().start(space, 0), 600, lambda c: measured(c, cost(c)))
    early, late = proposed[:100], proposed[-100:]
    assert np.mean([cost(config) for config in late]) < np.mean([cost(config) for config in early])


def test_huge_parameters_are_searched_too() -> None:
    assert_searches_huge_parameters(Controller(), trials=40)


# --- The baseline


def test_the_baseline_is_the_moving_mean_of_shares_of_the_best() -> None:
    baseline = MovingBaseline(decay=0.75)
    baseline.advantages(np.array([2.0, 4.0]))
    assert baseline.mean == pytest.approx(0.75)
    assert baseline.variance == pytest.approx(0.0625)
    # The best is now 8: what was 0.75 of 4 is 0.375 of it.
    advantages = baseline.advantages(np.array([8.0, 2.0]))
    assert baseline.mean == pytest.approx(0.375 + 0.25 * (0.625 - 0.375))
    variance = 0.75 * 0.0625 / 4 + 0.25 * (0.625**2 + 0.125**2) / 2
    assert baseline.variance == pytest.approx(variance)
    assert advantages == pytest.approx(np.array([0.625, -0.125]) / variance**0.5)


def test_the_unit_of_throughput_makes_no_difference() -> None:
    speeds = np.random.default_rng(0).random((5, 8))
    results = []
    for unit in (1.0, 1e-300, 1e300):
        baseline = MovingBaseline(decay=0.9)
        results.append(np.array([baseline.advantages(batch * unit) for batch in speeds]))
    assert results[1] == pytest.approx(results[0])
    assert results[2] == pytest.approx(results[0])


@pytest.mark.parametrize("speed", [0.0, 5e-324, 1.0, 1.7e308])
def test_equal_results_have_no_advantage(speed: float) -> None:
    baseline = MovingBaseline(decay=0.9)
    for _ in range(3):
        assert (baseline.advantages(np.full(8, speed)) == 0.0).all()


def test_a_success_after_failures_stands_out_within_bounds() -> None:
    baseline = MovingBaseline(decay=0.9)
    baseline.advantages(np.zeros(8))
    advantages = baseline.advantages(np.array([1e6] + [0.0] * 7))
    assert 3.0 < advantages[0] < 10.0
