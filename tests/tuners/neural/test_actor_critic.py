"""The networks of N-A2C, and which way they learn."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.features.vectors import Floats, Reals
from tunesmith.tuners.neural.actor_critic import ActorCritic, Transitions

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

FEATURES, ACTIONS, BATCH = 3, 4, 32
STATE = np.array([[0.1, -0.2, 0.3]], dtype=np.float32)
ALL = np.ones((1, ACTIONS), dtype=np.bool_)


def networks(discount: float = 0.0, seed: int = 0, entropy: float = 0.0) -> ActorCritic:
    return ActorCritic(
        "na2c",
        features=FEATURES,
        actions=ACTIONS,
        hidden=128,
        learning_rate=1e-3,
        discount=discount,
        entropy=entropy,
        rng=np.random.default_rng(seed),
    )


def transitions(action: int, reward: float, *, following: float = 0.0) -> Transitions:
    """The same step many times over."""
    return Transitions(
        np.repeat(STATE, BATCH, axis=0),
        np.repeat(ALL, BATCH, axis=0),
        np.full(BATCH, action),
        np.full(BATCH, reward, dtype=np.float32),
        np.full((BATCH, FEATURES), following, dtype=np.float32),
    )


def values(both: ActorCritic, features: Floats) -> Reals:
    """The critic's value of each state, shape (batch,)."""
    found: Reals = both._critic(torch.from_numpy(features)).detach().double().numpy()[:, 0]
    return found


def train(both: ActorCritic, *batches: Transitions, rounds: int = 20) -> None:
    for _ in range(rounds):
        for batch in batches:
            both.train(batch)


@pytest.mark.parametrize("action", range(ACTIONS))
def test_a_rewarded_action_becomes_more_likely(action: int) -> None:
    both = networks()
    before = both.policy(STATE, ALL)[0, action]
    train(both, transitions(action, 1.0))
    assert both.policy(STATE, ALL)[0, action] > before + 0.1


@pytest.mark.parametrize("action", range(ACTIONS))
def test_an_action_worse_than_expected_becomes_less_likely(action: int) -> None:
    both = networks()
    before = both.policy(STATE, ALL)[0, action]
    train(both, transitions(action, -1.0))
    assert both.policy(STATE, ALL)[0, action] < before - 0.05


def test_the_losses_are_those_of_the_advantages() -> None:
    both = networks(discount=0.5, entropy=0.25)
    rng = np.random.default_rng(0)
    features, following = rng.random((2, 3, FEATURES), dtype=np.float32)
    actions, rewards = np.array([2, 0, 3]), np.array([1.0, 0.0, 0.25], dtype=np.float32)
    possible = np.array([[True, False, True, True], [True] * 4, [False, False, True, True]])
    actor, critic = both.losses(Transitions(features, possible, actions, rewards, following))
    # r + discount V(s') - V(s), by hand
    advantages = rewards + 0.5 * values(both, following) - values(both, features)
    policy = both.policy(features, possible)
    chosen = policy[np.arange(3), actions]
    ratio = np.minimum(chosen * possible.sum(axis=1), 4.0)
    logs = np.log(np.where(policy > 0.0, policy, 1.0))
    entropy = -(policy * logs).sum(axis=1)
    expected = -(advantages * ratio * np.log(chosen) + 0.25 * entropy).mean()
    assert actor.item() == pytest.approx(expected, rel=1e-5)
    assert critic.item() == pytest.approx(np.square(advantages).mean(), rel=1e-5)


def test_the_actors_loss_does_not_train_the_critic() -> None:
    both = networks()
    actor, _ = both.losses(transitions(1, 1.0))
    actor.backward()
    assert [weights.grad is None for weights in both._critic.weights] == [True] * 4
    assert [weights.grad is None for weights in both._actor.weights] == [False] * 4


def test_a_state_that_leads_to_itself_is_worth_the_sum_of_all_its_rewards() -> None:
    both = networks(discount=0.5)
    batch = transitions(0, 0.5)._replace(next_features=np.repeat(STATE, BATCH, axis=0))
    train(both, batch, rounds=600)
    assert values(both, STATE)[0] == pytest.approx(0.5 + 0.25 + 0.125 + 0.125, abs=0.03)


def test_a_single_step_of_training_goes_the_right_way() -> None:
    for seed in range(10):
        both = networks(seed=seed)
        before = both.policy(STATE, ALL)[0, 2]
        both.train(transitions(2, 5.0))
        assert both.policy(STATE, ALL)[0, 2] > before


def test_of_two_rewarded_actions_the_better_one_wins() -> None:
    both = networks()
    train(both, transitions(1, 0.5), transitions(3, 1.0), rounds=200)
    policy = both.policy(STATE, ALL)[0]
    assert policy[3] > 0.5 > policy[1]


def test_entropy_keeps_the_policy_from_ruling_out_the_others() -> None:
    policies = []
    for entropy in (0.0, 0.5):
        both = networks(entropy=entropy)
        train(both, transitions(1, 0.5), transitions(3, 1.0), rounds=200)
        policies.append(both.policy(STATE, ALL)[0])
    without, bonus = policies
    assert bonus.argmax() == 3
    assert bonus.min() > 2.0 * without.min()


def test_the_critic_comes_to_expect_the_reward() -> None:
    both = networks()
    train(both, transitions(0, 0.8), rounds=400)
    assert values(both, STATE)[0] == pytest.approx(0.8, abs=0.02)


def test_the_value_of_the_next_state_counts_as_much_as_the_discount() -> None:
    both = networks(discount=0.5)
    elsewhere = np.full((1, FEATURES), 0.5, dtype=np.float32)
    onward = Transitions(*transitions(0, 0.0, following=0.5)[:4], np.repeat(elsewhere, BATCH, 0))
    there = Transitions(np.repeat(elsewhere, BATCH, 0), *transitions(1, 1.0)[1:])
    for _ in range(800):
        both.train(onward)
        both.train(there)
    # Rewarded with 1 there, from where it goes on to the state with features 0, and so on.
    assert values(both, STATE)[0] == pytest.approx(0.5 * values(both, elsewhere)[0], abs=0.05)
    assert values(both, elsewhere)[0] > 0.5


def test_impossible_actions_have_no_probability() -> None:
    both = networks()
    possible = np.array([[True, False, True, False]])
    [policy] = both.policy(STATE, possible)
    assert policy.sum() == pytest.approx(1.0)
    assert (policy > 0).tolist() == [True, False, True, False]


def test_one_possible_action_is_certain_and_has_nothing_to_learn() -> None:
    both = networks()
    possible = np.array([[False, True, False, False]])
    assert both.policy(STATE, possible)[0].tolist() == [0.0, 1.0, 0.0, 0.0]
    batch = transitions(1, 1.0)._replace(possible=np.repeat(possible, BATCH, axis=0))
    before = both.policy(STATE, ALL)
    train(both, batch)
    assert np.allclose(both.policy(STATE, ALL), before)


def test_the_same_seed_gives_the_same_networks() -> None:
    assert (networks(seed=1).policy(STATE, ALL) == networks(seed=1).policy(STATE, ALL)).all()
    assert (networks(seed=1).policy(STATE, ALL) != networks(seed=2).policy(STATE, ALL)).any()
