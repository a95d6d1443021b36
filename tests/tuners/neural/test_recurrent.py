"""The recurrent policy of the RNN controller, and which way it learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.features.tokens import Tokens
from tunesmith.features.vectors import Ints, Reals
from tunesmith.space import Config, Factorization, Ordinal, Permutation, Space
from tunesmith.testing.trials import LARGE_SPACES, space_named
from tunesmith.tuners.neural.recurrent import RecurrentPolicy

pytest.importorskip("torch", reason="PyTorch is not installed")

SPACE = Space(
    [Factorization("x", 64, 3), Permutation("p", (1, 2, 3)), Ordinal("n", tuple(range(90)))]
)


def policy_for(space: Space, *, entropy: float = 0.0, seed: int = 0) -> RecurrentPolicy:
    return RecurrentPolicy(
        "controller",
        Tokens(space),
        hidden=32,
        learning_rate=1e-2,
        entropy=entropy,
        rng=np.random.default_rng(seed),
    )


def written(space: Space, *configs: Config) -> Ints:
    tokens = Tokens(space)
    return np.stack([tokens.write(config) for config in configs])


def log_probabilities(policy: RecurrentPolicy, sentences: Ints) -> Reals:
    """The log-probability of each sentence, shape (batch,)."""
    chosen, _ = policy.evaluate(sentences)
    logs: Reals = chosen.detach().double().numpy()
    return logs


def some(space: Space, count: int, seed: int = 0) -> list[Config]:
    return space.sample_many(count, np.random.default_rng(seed))


@pytest.mark.parametrize("name", [*LARGE_SPACES, "fifteen points", "few valid"])
def test_an_untrained_policy_draws_evenly(name: str) -> None:
    space = space_named(name)
    logs = log_probabilities(policy_for(space), written(space, *some(space, 50)))
    assert logs == pytest.approx(-math.log(space.size), abs=1e-3)


@pytest.mark.parametrize("name", ["constrained", "few valid", "permutation"])
def test_the_probabilities_of_all_configs_add_up_to_one(name: str) -> None:
    space = space_named(name)
    configs = written(space, *space.enumerate())
    policy = policy_for(space)
    for seed in range(5):
        batch = written(space, *some(space, 4, seed))
        policy.train(batch, np.array([2.0, -1.0, 0.5, -0.5]))
    logs = log_probabilities(policy, configs)
    assert np.ptp(logs) > 0.1  # uniform no more
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-4)


def test_reinforces_loss_by_hand() -> None:
    policy = policy_for(SPACE)
    sentences, advantages = written(SPACE, *some(SPACE, 3)), np.array([1.5, -0.5, 0.25])
    policy.train(sentences, advantages)
    logs = log_probabilities(policy, sentences)
    assert policy.loss(sentences, advantages).item() == pytest.approx(
        -(1.5 * logs[0] - 0.5 * logs[1] + 0.25 * logs[2]) / 3, rel=1e-5
    )


def test_the_entropy_bonus_by_hand() -> None:
    space = Space([Ordinal("n", (1, 2, 3))])  # one token
    policy, all_three = policy_for(space, entropy=0.5), written(space, *space.enumerate())
    for _ in range(20):
        policy.train(all_three, np.array([1.0, 0.0, -1.0]))
    logs = log_probabilities(policy, all_three)
    divergence = float((np.exp(logs) * (logs - math.log(1 / 3))).sum())
    assert divergence > 0.01
    assert policy.loss(all_three, np.zeros(3)).item() == pytest.approx(0.5 * divergence, rel=1e-4)


@pytest.mark.parametrize("name", ["constrained", "few valid"])
def test_a_trained_policy_draws_nothing_that_breaks_a_constraint(name: str) -> None:
    space = space_named(name)
    policy = policy_for(space)
    for seed in range(20):
        policy.train(written(space, *some(space, 2, seed)), np.array([3.0, -3.0]))
    drawn = policy.draw(200, np.random.default_rng(1))
    assert all(space.contains(Tokens(space).read(sentence)) for sentence in drawn)


def test_draws_are_of_the_space_and_follow_the_seed() -> None:
    tokens = Tokens(SPACE)
    policy = policy_for(SPACE)
    drawn = policy.draw(100, np.random.default_rng(1))
    assert all(SPACE.contains(tokens.read(sentence)) for sentence in drawn)
    assert (policy.draw(100, np.random.default_rng(1)) == drawn).all()
    assert (policy.draw(100, np.random.default_rng(2)) != drawn).any()


def test_draws_are_as_likely_as_it_says() -> None:
    space = Space([Factorization("x", 8, 3)])  # ten values
    policy = policy_for(space)
    for _ in range(10):
        policy.train(written(space, *some(space, 3)), np.array([1.0, 0.5, -1.0]))
    configs = list(space.enumerate())
    expected = np.exp(log_probabilities(policy, written(space, *configs)))
    assert expected.sum() == pytest.approx(1.0, abs=1e-5)
    tokens = Tokens(space)
    drawn = [tokens.read(sentence) for sentence in policy.draw(4000, np.random.default_rng(0))]
    shares = np.array([drawn.count(config) for config in configs]) / 4000
    # Three standard deviations of a share are at most 0.024.
    assert np.abs(shares - expected).max() < 0.03


def test_a_rewarded_config_becomes_more_likely_and_a_punished_one_less() -> None:
    good, bad = written(SPACE, *some(SPACE, 2))
    for sentence, sign in ((good, 1.0), (bad, -1.0)):
        policy = policy_for(SPACE)
        before = log_probabilities(policy, sentence[None])[0]
        policy.train(np.stack([sentence] * 4), np.full(4, sign))
        changes = [log_probabilities(policy, sentence[None])[0] - before]
        policy.train(np.stack([sentence] * 4), np.full(4, sign))
        changes.append(log_probabilities(policy, sentence[None])[0] - before)
        assert 0 < sign * changes[0] < sign * changes[1]


def test_what_rewarded_configs_have_in_common_becomes_likelier() -> None:
    policy = policy_for(SPACE)
    configs = some(SPACE, 200)
    rewards = np.array([1.0 if config["p"] == (3, 1, 2) else -0.2 for config in configs])
    for _ in range(20):
        policy.train(written(SPACE, *configs), rewards)
    tokens = Tokens(SPACE)
    drawn = [tokens.read(sentence) for sentence in policy.draw(200, np.random.default_rng(0))]
    assert np.mean([config["p"] == (3, 1, 2) for config in drawn]) > 0.5  # it was a sixth


def test_without_advantages_nothing_changes() -> None:
    sentences = written(SPACE, *some(SPACE, 8))
    for entropy in (0.0, 1.0):
        policy = policy_for(SPACE, entropy=entropy)
        before = log_probabilities(policy, sentences)
        policy.train(sentences, np.zeros(8))
        assert log_probabilities(policy, sentences) == pytest.approx(before, abs=1e-5)


def test_the_entropy_bonus_draws_it_back_to_the_uniform_distribution() -> None:
    sentences = written(SPACE, *some(SPACE, 8))

    def spread(entropy: float) -> float:
        policy = policy_for(SPACE, entropy=entropy)
        for _ in range(10):
            policy.train(sentences, np.array([3.0] + [-1.0] * 7))
        for _ in range(30):
            policy.train(sentences, np.zeros(8))
        return float(np.ptp(log_probabilities(policy, sentences)))

    assert spread(1.0) < 0.7 * spread(0.0)
