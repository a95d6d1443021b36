"""N-A2C: an actor and a critic explore the neighbourhood of the best config so far.

"Compiler-Level Matrix Multiplication Optimization for Deep Learning", section 3.4 and algorithm 2,
for all kinds of parameters. T = 3 and the untiled start are from its section 4. It gives no other
constants: hidden units, Adam's learning rate, the share of random actions and the trials per
episode are those of the public implementation by OpEvo's authors; how fast T shrinks and grows, the
discount, the size of M and of a step of training are ours.

An episode is ``batch`` observations. Walks start at the centre and take T steps. The actor draws
the action of each step, which at times is a random one; new configs on the way are proposed. At the
end of an episode the centre moves to the best config so far, and both networks are trained on
random transitions (s, a, r, s') of M: those by all actions that lead from a measured state to
another, whether they were walked or not. The reward is the throughput of s' (equation 8), as a
share of the best.

T starts at ``first_steps`` and shrinks by one each episode, down to ``steps`` (the paper's soft
start). It grows by one for every ``patience`` episodes in which the centre stayed, and when a
neighbourhood has nothing new.

Differences from the paper:

- Nothing waits. Observations form episodes in the order of their arrival, including those of
  configs that others proposed; if more configs are requested, the search walks on.
- The first config is measured, too; the paper only walks from there.
- Where something works before the first proposal, of earlier records or good starts, the search
  begins at the best of that.
- While all trials fail, the centre is a random config, a new one after each episode: nothing can be
  learned from a neighbourhood of failures.
- If equation 6 would give more than 512 actions, there are fewer (see ``Moves``); the paper's
  matrix products have 26.
- Algorithm 2 stores the transitions from all s by all a with step(s, a) = s'. Nearly all of these
  come from states that were not measured, for each of which one action is known: the one that leads
  back to what was measured. A network that learns from them ranks the actions of a measured state
  the wrong way round. So M has only those whose s was measured as well.
- The actions in M are not drawn by the policy, so their gradients are weighted by its probability
  over that of an even choice. A bonus for entropy keeps the policy from ruling out what it knows
  little of. The next state's value has no weight by default: the critic learns it from too little.
- M holds the latest measured states; the paper does not say what its size counts.
- Actions without effect are masked. An action that leads to a known config, or violates a
  constraint, is redrawn; the paper walks on through these. Only after several such draws in a row
  the walk does so, too. So the networks do not need J, whether a state is legitimate.
- If walks find nothing new, the config is a uniform draw, so the whole space is proposed
  eventually.
- Actions are random with the probability that the paper calls 1 - tau.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tunesmith.features.moves import Moves
from tunesmith.features.vectors import Ints, Reals
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.tuners.neural.actor_critic import ActorCritic, Transitions
from tunesmith.tuners.neural.memory import Memory
from tunesmith.tuners.tuner import Search, Tuner, fitness, option
from tunesmith.tuners.untiled import start_of

# Actions drawn in a step until one leads to a new and valid config.
_DRAWS = 8

# Steps without a new config after which the neighbourhood counts as exhausted.
_VAIN_STEPS = 16

# Transitions in a step of training.
_MINIBATCH = 64

# If many results come at once (the records of an earlier run), the networks are trained for at most
# this many episodes before the next proposal.
_MOST_EPISODES = 16


@dataclass(frozen=True)
class NA2C(Tuner):
    """N-A2C: an actor and a critic explore around the best config so far (PyTorch)."""

    name: ClassVar[str] = "na2c"

    start_at: Literal["untiled", "random"] = option(
        "untiled", "the first config: each loop in one piece and all else at its first value"
    )
    steps: int = option(3, "steps of a walk from the best config (T)")
    first_steps: int = option(10, "steps of the first walks; one less each episode")
    patience: int = option(4, "episodes without a better config that make walks a step longer")
    batch: int = option(6, "trials an episode")
    exploration: float = option(0.1, "probability of a random action")
    memory: int = option(256, "measured configs that the networks are trained on, the latest (M)")
    updates: int = option(32, "steps of training an episode, each on 64 transitions")
    hidden: int = option(128, "hidden units of each network")
    learning_rate: float = option(1e-3, "learning rate of Adam")
    discount: float = option(0.0, "weight of the next state's value against the reward")
    entropy: float = option(0.1, "weight of the bonus for staying near the uniform policy")

    def check(self) -> None:
        self.require_least(1, "steps", "patience", "batch", "memory", "updates", "hidden")
        self.require(
            self.first_steps >= self.steps,
            f"first_steps must be at least steps ({self.steps}), not {self.first_steps}",
        )
        self.require_share("exploration")
        self.require_share("learning_rate", above_0=True)
        self.require_share("discount", below_1=True)
        self.require_share("entropy")

    def start(self, space: Space, seed: int) -> NA2CSearch:
        return NA2CSearch(self, space, seed)


class NA2CSearch(Search):
    """A running N-A2C search.

    Attributes:
        centre: the state where walks begin (s_0).
        best: the highest throughput so far; 0 while all trials failed.
        best_state: the state with that throughput; None while there is none.
        observed: the number of observations.
        still: episodes since the centre moved, and ``patience`` more each time that walks found
            nothing new.
    """

    def __init__(self, settings: NA2C, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.moves = Moves(space)
        self.networks = ActorCritic(
            settings.name,
            features=self.moves.features,
            actions=len(self.moves),
            hidden=settings.hidden,
            learning_rate=settings.learning_rate,
            discount=settings.discount,
            entropy=settings.entropy,
            rng=self.rng,
        )
        self.memory = Memory(settings.memory, self.moves)
        self.centre = self._first_centre()
        self.best = 0.0
        self.best_state: Ints | None = None
        self.observed = 0
        self.still = 0
        self._has_begun = False
        self._untrained = 0
        self._state = self.centre
        self._steps_left = 0

    @property
    def walk_length(self) -> int:
        """T: the length of a walk that starts now."""
        settings = self.settings
        soft_start = settings.first_steps - settings.steps - self.observed // settings.batch
        return settings.steps + max(0, soft_start) + self.still // settings.patience

    def next_config(self) -> Config | None:
        if not len(self.moves):  # a single config
            return self.fresh_config()
        if not self._has_begun:
            self._has_begun = True
            if self.best_state is not None:  # where something works already, it goes on from that
                self.centre = self.best_state
        if not self.observed:
            centre = self.moves.vectors.config(self.centre)
            if centre not in self.seen:
                return centre
        self._train()
        for _ in range(_VAIN_STEPS):
            if not self._steps_left:
                self._state, self._steps_left = self.centre, self.walk_length
            self._steps_left -= 1
            config = self._step()
            if config is not None:
                return config
        self.still += self.settings.patience
        self._steps_left = 0
        return self.fresh_config()

    def learn(self, measurement: Measurement) -> None:
        state, speed = self.moves.vectors.vector(measurement.config), fitness(measurement)
        if speed > self.best:
            self.best, self.best_state = speed, state
        self.memory.add(state, speed)
        self.observed += 1
        if self.observed % self.settings.batch == 0:
            self._end_episode()

    def _end_episode(self) -> None:
        """Move the centre to the best state, and schedule training."""
        centre = self._random_state() if self.best_state is None else self.best_state
        self.still = self.still + 1 if (centre == self.centre).all() else 0
        self.centre, self._steps_left = centre, 0
        self._untrained = min(self._untrained + 1, _MOST_EPISODES)

    def _first_centre(self) -> Ints:
        settings = self.settings
        untiled = start_of(settings.name, self.space) if settings.start_at == "untiled" else None
        return self._random_state() if untiled is None else self.moves.vectors.vector(untiled)

    def _random_state(self) -> Ints:
        return self.moves.vectors.vector(self.some_config())

    def _step(self) -> Config | None:
        """Walk one step, and return the config if it is new and valid."""
        weights = self._action_weights()
        onward = self._state
        for _ in range(_DRAWS):
            action = _draw(weights, self.rng)
            [state] = self.moves.step(self._state[None], np.array([action]))
            config = self.moves.vectors.config(state)
            valid = self.moves.vectors.meets_constraints(config)
            if valid and config not in self.seen:
                self._state = state
                return config
            if valid or onward is self._state:
                onward = state
            weights[action] = 0.0
            if not weights.any():
                break
        self._state = onward
        return None

    def _action_weights(self) -> Reals:
        """The probability of each action up to a factor, shape (actions,)."""
        states = self._state[None]
        possible = self.moves.possible(states)
        if self.rng.random() < self.settings.exploration:
            weights: Reals = possible[0].astype(np.float64)
        else:
            weights = self.networks.policy(self.moves.encode(states), possible)[0]
        return weights

    def _train(self) -> None:
        """Train for the episodes that have ended since the last training."""
        for _ in range(self._untrained * self.settings.updates):
            before, actions, speeds, after = self.memory.draw(_MINIBATCH, self.rng)
            if not len(actions):
                continue
            rewards = speeds / (self.best or 1.0)
            self.networks.train(
                Transitions(
                    self.moves.encode(before),
                    self.moves.possible(before),
                    actions,
                    rewards.astype(np.float32),
                    self.moves.encode(after),
                )
            )
        self._untrained = 0


def _draw(weights: Reals, rng: np.random.Generator) -> int:
    """An index, drawn in proportion to the weights, which are not all 0."""
    places = np.flatnonzero(weights)
    ends = weights[places].cumsum()
    drawn = int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))
    return int(places[min(drawn, len(places) - 1)])
