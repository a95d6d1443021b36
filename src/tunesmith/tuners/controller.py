"""The RNN controller: a recurrent policy writes configs, and learns by policy gradient.

The second baseline of "Compiler-Level Matrix Multiplication Optimization for Deep Learning",
section 4. For it the paper refers to the controllers of neural architecture search (Zoph and Le
2016, Bello et al. 2017, Pham et al. 2018) and gives no constants. As in those, an LSTM emits tokens
one by one and reads each before the next, every place has its own softmax, and REINFORCE with a
moving baseline trains it, by Adam.

A factorization is written part by part, with one token per prime exponent; a permutation item by
item; an ordinal or a category as one number, in several digits if it has more than 64 values.
Tokens that are invalid or violate a constraint are masked (see ``Tokens``).

Differences from those controllers, which had thousands of trials and no constraints:

- The learning rate is higher, and advantages are divided by their own moving deviation, so the
  unit of throughput does not matter. A reward is the throughput as a share of the best so far; a
  failure has 0.
- The policy starts as the uniform distribution (see ``RecurrentPolicy``), and the usual entropy
  bonus is relative to that: no config is worth a second trial, so a policy that has converged
  would have nothing to propose.
- Known configs are redrawn, up to four times 32 sentences; after that the config is a uniform draw.
  The same goes for configs that violate a constraint with too many valid combinations for masks. If
  all of 32 sentences are known, the policy's temperature doubles, to draw more widely; each step of
  training halves it.
- It learns from all results, also of configs that others proposed, as soon as a batch is complete;
  nothing waits for pending ones.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.features.tokens import Tokens
from tunesmith.features.vectors import Ints, Reals
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.tuners.neural.recurrent import RecurrentPolicy
from tunesmith.tuners.tuner import Search, Tuner, fitness, option

# The number of sentences drawn together, as most of an LSTM's time is overhead of calls, and how
# often for a proposal at most.
_SENTENCES = 32
_ROUNDS = 4

# The highest temperature: the policy is nearly uniform then.
_HOTTEST = 64.0

# If many results come at once (the records of an earlier run), only the latest batches are used.
_MOST_BATCHES = 128


@dataclass(frozen=True)
class Controller(Tuner):
    """RNN controller: an LSTM writes configs token by token and is rewarded (PyTorch)."""

    name: ClassVar[str] = "controller"

    batch: int = option(4, "trials in a step of training")
    hidden: int = option(64, "hidden units of the LSTM")
    learning_rate: float = option(1e-2, "learning rate of Adam")
    decay: float = option(0.9, "share of the old baseline that stays in a step of training")
    entropy: float = option(0.1, "weight of the bonus for staying near the uniform distribution")

    def check(self) -> None:
        self.require_least(1, "batch", "hidden")
        self.require_share("learning_rate", above_0=True)
        self.require_share("decay", below_1=True)
        self.require_share("entropy")

    def start(self, space: Space, seed: int) -> ControllerSearch:
        return ControllerSearch(self, space, seed)


class ControllerSearch(Search):
    """A running controller. It is trained after every ``batch`` results."""

    def __init__(self, settings: Controller, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.tokens = Tokens(space)
        self.policy = RecurrentPolicy(
            settings.name,
            self.tokens,
            hidden=settings.hidden,
            learning_rate=settings.learning_rate,
            entropy=settings.entropy,
            rng=self.rng,
        )
        self.baseline = MovingBaseline(settings.decay)
        self.temperature = 1.0
        self._drawn: deque[Ints] = deque()
        self._known: set[bytes] = set()  # sentences that were observed or proposed
        self._results: deque[tuple[Ints, float]] = deque(maxlen=_MOST_BATCHES * settings.batch)

    def next_config(self) -> Config | None:
        if not len(self.tokens):  # a single config
            return self.fresh_config()
        self._train()
        for _ in range(_ROUNDS):
            if not self._drawn:
                self._write_sentences()
            while self._drawn:
                config = self._read(self._drawn.popleft())
                if config is not None:
                    return config
        return self.fresh_config()

    def learn(self, measurement: Measurement) -> None:
        sentence = self.tokens.write(measurement.config)
        self._known.add(sentence.tobytes())
        self._results.append((sentence, fitness(measurement)))

    def _write_sentences(self) -> None:
        """Draw sentences and keep the new ones; if there are none, raise the temperature."""
        drawn = self.policy.draw(_SENTENCES, self.rng, self.temperature)
        self._drawn.extend(row for row in drawn if row.tobytes() not in self._known)
        if not self._drawn:
            self.temperature = min(2.0 * self.temperature, _HOTTEST)

    def _read(self, sentence: Ints) -> Config | None:
        """The config of a sentence, if it is new and valid."""
        written = sentence.tobytes()
        if written in self._known:  # drawn twice
            return None
        self._known.add(written)
        config = self.tokens.read(sentence)
        new = config not in self.seen and self.tokens.vectors.meets_constraints(config)
        return config if new else None

    def _train(self) -> None:
        """Train on new results, in whole batches and in the order of arrival."""
        while len(self._results) >= self.settings.batch:
            batch = [self._results.popleft() for _ in range(self.settings.batch)]
            sentences = np.stack([sentence for sentence, _ in batch])
            speeds = np.array([speed for _, speed in batch])
            self.policy.train(sentences, self.baseline.advantages(speeds))
            self.temperature = max(1.0, self.temperature / 2.0)
            self._drawn.clear()  # by the old policy


class MovingBaseline:
    """The moving mean and variance of rewards.

    Rewards are throughputs as shares of the best so far, so ``mean`` and ``variance`` shrink when a
    better one arrives.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.best = 0.0
        self.mean: float | None = None
        self.variance = 0.0

    def advantages(self, speeds: Reals) -> Reals:
        """The advantages of a batch in moving deviations, shape (batch,); updates the baseline."""
        best = max(self.best, float(speeds.max()))
        rewards = speeds / (best or 1.0)
        if self.mean is None:
            self.mean, kept = float(rewards.mean()), 0.0
        else:
            shrunk = self.best / best if best else 1.0
            self.mean, self.variance = self.mean * shrunk, self.variance * shrunk**2
            kept = self.decay
        self.best = best
        above = rewards - self.mean
        self.mean += (1.0 - kept) * float(above.mean())
        self.variance = kept * self.variance + (1.0 - kept) * float(np.square(above).mean())
        return above / self.variance**0.5 if self.variance else np.zeros(len(above))
