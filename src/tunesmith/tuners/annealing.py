"""Simulated annealing on measured speeds: a baseline with no model, on ask and tell.

The algorithm of Kirkpatrick, Gelatt and Vecchi, "Optimization by Simulated Annealing", 1983, with
Metropolis' rule. What it leaves open is chosen for short searches of unknown length in spaces whose
configs differ by small factors or by large ones alike:

- A move leads to an adjacent config of the space, all equally likely, each once while the chain
  stays where it is. One move in ten, and each where no adjacent config is left, gives one parameter
  any of its values instead.
- A slower config is accepted with probability exp(-w / T), where w says by which share more time it
  takes than the present one. A failure is never accepted.
- T falls geometrically with each trial, from 0.3 to 0.001, at first in 200 trials. Then the chain
  is heated again and cools down more slowly, for half as many trials more. It goes on at the best
  config so far, but elsewhere if the last cooling found no better one.
- It starts at the best of ten random configs, and so does it elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.tuners.breeding import Individual, another_value
from tunesmith.tuners.tuner import Search, Tuner, fitness, option

# After so many moves to configs that were seen before, a chain is stuck and is heated again.
_VAIN_MOVES = 100


@dataclass(frozen=True)
class Annealing(Tuner):
    """Simulated annealing on measured speeds, heated again at the best config so far."""

    name: ClassVar[str] = "annealing"

    starts: int = option(10, "random configs at first; the best of them is where it starts")
    hot: float = option(0.3, "temperature at first: the slowdown accepted with probability 1/e")
    cold: float = option(0.001, "temperature at last")
    cooling: int = option(200, "trials from hot to cold, the first time")
    growth: float = option(1.5, "how many times longer each further cooling takes")
    jump: float = option(0.1, "probability that a move gives a parameter any of its values")

    def check(self) -> None:
        self.require(self.starts >= 1, f"starts must be 1 or more, not {self.starts}")
        self.require(
            0.0 < self.cold <= self.hot < math.inf,
            f"cold must be more than 0 and at most hot ({self.hot}), not {self.cold}",
        )
        self.require(self.cooling >= 1, f"cooling must be 1 or more, not {self.cooling}")
        self.require(
            1.0 <= self.growth < math.inf, f"growth must be a number from 1, not {self.growth}"
        )
        self.require(0.0 <= self.jump <= 1.0, f"jump must be between 0 and 1, not {self.jump}")

    def start(self, space: Space, seed: int) -> AnnealingSearch:
        return AnnealingSearch(self, space, seed)


class AnnealingSearch(Search):
    """A running annealing chain.

    Each trial is a move from the chain's state. A move to a config whose speed is known is decided
    at once and costs no trial. While measurements are pending, further moves from the same state
    are proposed: at low temperatures most are rejected anyway, so that little is lost. A
    measurement of a move from a state that the chain has left is accepted only if it is faster than
    the present state; one that was proposed before the chain started elsewhere is not accepted.
    Configs that others proposed count as random ones. ``state`` is None until a start succeeded;
    proposals are random then. A chain around which nothing new is found is heated, even where that
    is because all is pending.
    """

    def __init__(self, settings: Annealing, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self.state: Individual | None = None
        self.best: Individual | None = None
        self.trials = 0  # in this cooling
        self.duration = float(settings.cooling)
        self._speeds: dict[Config, float] = {}
        # The number of chains begun, and for each pending move the chain and where it started from.
        self._chain = 0
        self._origins: dict[Config, tuple[int, Config | None]] = {}
        self._moves_begin = settings.starts  # as soon as so many configs were seen
        self._best_before = 0.0  # when the chain was last heated
        self._adjacent: list[Config] | None = None  # to the state, and not tried yet

    @property
    def temperature(self) -> float:
        """The present temperature, as a relative slowdown."""
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
        """Go from state to state until a move leads to a config to be measured; that config.

        None where none is found around.
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
        """A config to go to; None where the one that was drawn is invalid."""
        if self._adjacent is None:
            adjacent = self.space.neighbours(config)
            self._adjacent = [adjacent[index] for index in self.rng.permutation(len(adjacent))]
        if self._adjacent and self.rng.random() >= self.settings.jump:
            return self._adjacent.pop()
        parameter = self.space.parameters[self.rng.integers(len(self.space.parameters))]
        value = another_value(parameter, config[parameter.name], self.rng)
        changed = Config.from_values({**config, parameter.name: value})
        return changed if self.space.contains(changed) else None

    def _goes_to(self, found: Individual, origin: Config | None) -> bool:
        if self.state is None or found.fitness > self.state.fitness:
            return True
        return origin == self.state.config and self._accepts(found, self.state)

    def _accepts(self, found: Individual, state: Individual) -> bool:
        """Metropolis' rule; the relative slowdown stands for the gain in energy."""
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
        """Begin a further cooling: at the best config, or elsewhere if the last found no better."""
        self.trials = 0
        self.duration *= self.settings.growth
        if self.best is not None and self.best.fitness > self._best_before:
            self._best_before = self.best.fitness
            self._move_to(self.best)
        else:
            self.state = None
            self._chain += 1
            self._moves_begin = len(self.seen) + self.settings.starts
