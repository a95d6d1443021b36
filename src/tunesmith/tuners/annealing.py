"""Simulated annealing on measured speeds: a baseline without a model.

The algorithm is that of Kirkpatrick, Gelatt and Vecchi, "Optimization by Simulated Annealing",
1983, with the Metropolis rule. What it leaves open is chosen for short searches of unknown length,
in spaces whose configs may differ by small or large factors:

- A move goes to a random adjacent config, to each only once while the chain stays where it is. One
  move in ten, and every move if no adjacent config is left, sets one parameter to a random value
  instead.
- A slower config is accepted with probability exp(-w / T), where w is its relative slowdown against
  the present one. A failure is never accepted.
- T falls geometrically with each trial, from 0.3 to 0.001, first within 200 trials. Then the chain
  is reheated and cools down again over 1.5 times as many trials. It continues from the best config
  so far, or restarts elsewhere if the last cooling found no better one.
- A start is the best of ten random configs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.tuners.breeding import Individual, another_value
from tunesmith.tuners.tuner import Search, Tuner, fitness, option

# After this many moves to known or invalid configs a chain is stuck, and is reheated.
_VAIN_MOVES = 100


@dataclass(frozen=True)
class Annealing(Tuner):
    """Simulated annealing on measured speeds, heated again at the best config so far."""

    name: ClassVar[str] = "annealing"
    random_start_option: ClassVar[str | None] = "starts"

    starts: int = option(10, "random configs at first; the best of them is where it starts")
    hot: float = option(0.3, "temperature at first: the slowdown accepted with probability 1/e")
    cold: float = option(0.001, "temperature at last")
    cooling: int = option(200, "trials from hot to cold, the first time")
    growth: float = option(1.5, "how many times longer each further cooling takes")
    jump: float = option(0.1, "probability that a move gives a parameter any of its values")

    def check(self) -> None:
        self.require_least(1, "starts", "cooling")
        self.require(
            0.0 < self.cold <= self.hot < math.inf,
            f"cold must be more than 0 and at most hot ({self.hot}), not {self.cold}",
        )
        self.require(self.cold / self.hot > 0.0, f"cold must not be so much below hot ({self.hot})")
        self.require(
            1.0 <= self.growth < math.inf, f"growth must be a number from 1, not {self.growth}"
        )
        self.require_share("jump")

    def start(self, space: Space, seed: int) -> AnnealingSearch:
        return AnnealingSearch(self, space, seed)


class AnnealingSearch(Search):
    """A running annealing chain.

    Each trial is a move from the chain's state. A move to a config with a known speed is decided at
    once and costs no trial. While measurements are pending, further moves from the same state are
    proposed; at low temperatures most would be rejected anyway, so little is lost. If the chain has
    left the state of a move meanwhile, the move is accepted only if it is faster than the present
    state, and not at all if the chain has restarted. Configs that others proposed count as random
    ones. ``state`` is None until a start succeeds; until then proposals are random. A chain that
    finds nothing new around its state is reheated, even if all configs there are pending.
    """

    def __init__(self, settings: Annealing, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.state: Individual | None = None
        self.best: Individual | None = None
        self.trials = 0  # of this cooling
        self.duration = float(settings.cooling)
        self._speeds: dict[Config, float] = {}
        # The number of the chain, and for each pending move its chain and the state it came from.
        self._chain = 0
        self._origins: dict[Config, tuple[int, Config | None]] = {}
        self._moves_begin = settings.starts  # the number of seen configs from which on it moves
        self._best_before = 0.0  # at the last reheating
        self._adjacent: list[Config] | None = None  # configs adjacent to the state, not tried yet
        self._changeable = [each for each in space.parameters if each.cardinality > 1]

    @property
    def temperature(self) -> float:
        """The present temperature, in units of relative slowdown."""
        done = min(1.0, self.trials / self.duration)
        cooled: float = (self.settings.cold / self.settings.hot) ** done
        return self.settings.hot * cooled

    def next_config(self) -> Config | None:
        if self.trials >= self.duration:
            self._heat()
        if self.state is not None and len(self.seen) >= self._moves_begin:
            config = self._walk(self.state)
            if config is not None:
                self.trials += 1
                return config
            self._heat()
        config = self.fresh_config()
        if config is not None:
            self._origins[config] = (self._chain, None)
        return config

    def learn(self, measurement: Measurement) -> None:
        found = Individual(measurement.config, fitness(measurement))
        self._speeds[found.config] = found.fitness
        chain, origin = self._origins.pop(found.config, (self._chain, None))
        if found.fitness <= 0.0:
            return
        if self.best is None or found.fitness > self.best.fitness:
            self.best = found
        if chain == self._chain and self._goes_to(found, origin):
            self._move_to(found)

    def _walk(self, state: Individual) -> Config | None:
        """Move on until a move leads to an unmeasured config, and return that.

        None if it finds none nearby.
        """
        for _ in range(_VAIN_MOVES):
            config = self._move(state.config)
            if config is None:
                continue
            if config not in self.seen:
                self._origins[config] = (self._chain, state.config)
                return config
            known = Individual(config, self._speeds.get(config, 0.0))
            if self._accepts(known, state):
                self._move_to(known)
                state = known
        return None

    def _move(self, config: Config) -> Config | None:
        """The config of a random move; None if it is invalid."""
        if self._adjacent is None:
            adjacent = self.space.neighbours(config)
            self._adjacent = [adjacent[index] for index in self.rng.permutation(len(adjacent))]
        if self._adjacent and self.rng.random() >= self.settings.jump:
            return self._adjacent.pop()
        if not self._changeable:
            return None
        parameter = self._changeable[self.rng.integers(len(self._changeable))]
        value = another_value(parameter, config[parameter.name], self.rng)
        changed = Config.from_values({**config, parameter.name: value})
        return changed if self.space.contains(changed) else None

    def _goes_to(self, found: Individual, origin: Config | None) -> bool:
        if self.state is None or found.fitness > self.state.fitness:
            return True
        return origin == self.state.config and self._accepts(found, self.state)

    def _accepts(self, found: Individual, state: Individual) -> bool:
        """The Metropolis rule, with the relative slowdown as the increase in energy."""
        if found.fitness >= state.fitness:
            return True
        if found.fitness <= 0.0:
            return False
        slowdown = state.fitness / found.fitness - 1.0
        return bool(self.rng.random() < math.exp(-slowdown / self.temperature))

    def _move_to(self, found: Individual) -> None:
        self.state = found
        self._adjacent = None

    def _heat(self) -> None:
        """Start the next cooling: at the best config, or elsewhere if the last one found none."""
        self.trials = 0
        self.duration *= self.settings.growth
        if self.best is not None and self.best.fitness > self._best_before:
            self._best_before = self.best.fitness
            self._move_to(self.best)
        else:
            self.state = None
            self._chain += 1
            self._moves_begin = len(self.seen) + self.settings.starts
