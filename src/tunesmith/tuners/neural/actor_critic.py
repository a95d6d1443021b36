"""The actor and the critic of N-A2C, and their training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tunesmith.features.moves import Bools, Numbers
from tunesmith.features.vectors import Floats, Reals
from tunesmith.models import pytorch

# An action may count for no more than so many that are drawn by chance.
_LARGEST_RATIO = 4.0


class Transitions(NamedTuple):
    """Steps from one state to the next, one per row.

    ``features`` and ``next_features`` have shape (batch, features), ``possible`` has (batch,
    actions), ``actions`` and ``rewards`` have (batch,).
    """

    features: Floats
    possible: Bools
    actions: Numbers
    rewards: Floats
    next_features: Floats


class ActorCritic:
    """Two networks with one hidden layer: the actor scores actions, the critic values states.

    ``discount`` is the weight of the next state's value against the reward, ``entropy`` that of the
    policy's entropy. Raises ``MissingDependencyError`` without PyTorch; its message names the
    ``tuner``.
    """

    def __init__(
        self,
        tuner: str,
        *,
        features: int,
        actions: int,
        hidden: int,
        learning_rate: float,
        discount: float,
        entropy: float,
        rng: np.random.Generator,
    ) -> None:
        torch = self._torch = pytorch.load_torch(f"tuner '{tuner}'")
        self._discount = discount
        self._entropy = entropy
        generator = pytorch.generator(torch, rng)
        self._actor = pytorch.Perceptron(torch, (features, hidden, actions), generator)
        self._critic = pytorch.Perceptron(torch, (features, hidden, 1), generator)
        weights = [*self._actor.weights, *self._critic.weights]
        self._optimizer = torch.optim.Adam(weights, lr=learning_rate)

    def policy(self, features: Floats, possible: Bools) -> Reals:
        """The probability of each action, shape (batch, actions): 0 where it is not possible."""
        with pytorch.one_thread(self._torch):
            inputs = self._torch.from_numpy(features)
            preferences = self._actor(inputs).detach().double().numpy()
        preferences[~possible] = -np.inf
        weights = np.exp(preferences - preferences.max(axis=1, keepdims=True))
        probabilities: Reals = weights / weights.sum(axis=1, keepdims=True)
        return probabilities

    def losses(self, transitions: Transitions) -> tuple[Any, Any]:
        """The actor's and the critic's loss: tensors of one number."""
        torch = self._torch
        features, possible, actions, rewards, following = map(torch.from_numpy, transitions)
        values = self._critic(features)[:, 0]
        returns = rewards + self._discount * self._critic(following)[:, 0].detach()
        advantages = returns - values
        preferences = self._actor(features).masked_fill(~possible, -torch.inf)
        logs = preferences.log_softmax(dim=1)
        chosen = logs.gather(1, actions[:, None])[:, 0]
        # The actions are not drawn by the policy, but evenly from what is known.
        ratio = (chosen.exp() * possible.sum(dim=1)).clamp(max=_LARGEST_RATIO)
        entropy = -(logs.exp() * logs.masked_fill(~possible, 0.0)).sum(dim=1)
        # Minimising the negative makes actions with positive advantage likelier.
        gains = (advantages * ratio).detach() * chosen + self._entropy * entropy
        return -gains.mean(), advantages.square().mean()

    def train(self, transitions: Transitions) -> None:
        """One step of Adam on both losses."""
        with pytorch.one_thread(self._torch):
            actor_loss, critic_loss = self.losses(transitions)
            self._optimizer.zero_grad()
            (actor_loss + critic_loss).backward()
            self._optimizer.step()
