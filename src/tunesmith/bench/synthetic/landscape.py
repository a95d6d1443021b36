"""What a config of a synthetic space takes: the effects of its parameters, alone and in pairs.

The logarithm of seconds is a sum. Each parameter has an effect, which is smooth where its values
are ordered; few parameters matter much and most of them little. Some pairs of parameters have an
effect of their own, so that the best value of one depends on the other's. A small part is different
for each config, like code that happens to suit the machine.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config, Factorization, Ordinal, Parameter, Permutation, Space, Value

Floats = npt.NDArray[np.float64]
Effect = Callable[[Value], float]

# Seconds of the fastest conceivable config, and by which factor the slowest is slower.
_LEAST_SECONDS = 1e-4
_RANGE = 100.0

# A pair's effect distinguishes so many groups of values.
_LEVELS = 4

# Seconds of a trial: building, which differs by config up to twice the least, and running.
_BUILD, _RUN = 0.2, 0.1


class Landscape:
    """A function of the configs of a space, the same for the same ``seed``.

    ``pairs`` is how many pairs of parameters interact, ``rugged`` the standard deviation of what is
    different for each config, and ``failing`` the share of the configs that fail, which are those
    for which a sum of effects of its own is largest.
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        *,
        pairs: int = 0,
        rugged: float = 0.02,
        failing: float = 0.0,
    ) -> None:
        self.space = space
        rng = np.random.default_rng([seed, len(space.parameters)])
        self._rugged = rugged
        self._salt = int(rng.integers(1 << 31))
        self._effects = _effects(space.parameters, rng)
        self._pairs = _pair_effects(space.parameters, pairs, rng)
        self._strain = _effects(space.parameters, rng) if failing else {}
        drawn = space.sample_many(512, np.random.default_rng(seed))
        self._worst = max(self._sum(config) for config in drawn)
        self._limit = (
            float(np.quantile([self._strained(config) for config in drawn], 1.0 - failing))
            if failing
            else math.inf
        )

    @property
    def count(self) -> float:
        """How many configs can be measured: all."""
        return math.inf

    def new_space(self) -> Space:
        """The space, as nobody has counted or sampled it."""
        return Space(self.space.parameters, self.space.constraints)

    def seconds(self, config: Config) -> float:
        """Seconds of a call."""
        height = self._sum(config) / self._worst * math.log(_RANGE)
        return _LEAST_SECONDS * math.exp(height + self._rugged * self._own(config))

    def fails(self, config: Config) -> bool:
        """Whether it has no time."""
        return self._strained(config) > self._limit

    def measurement(self, config: Config) -> Measurement:
        """The result of a trial, which costs a fraction of a second by the simulated clock."""
        build = _BUILD * (1.0 + zlib.crc32(config.key.encode()) / 2**32)
        if self.fails(config):
            return Measurement(config, Outcome.RUNTIME_DEVICE, build_time=build)
        seconds = (self.seconds(config),)
        return Measurement(config, Outcome.NO_ERROR, seconds, build_time=build, run_time=_RUN)

    def _sum(self, config: Config) -> float:
        alone = sum(effect(config[name]) for name, effect in self._effects.items())
        together = sum(
            table[level(config[one]), other_level(config[other])]
            for (one, other), (table, level, other_level) in self._pairs.items()
        )
        return float(alone + together)

    def _strained(self, config: Config) -> float:
        return math.fsum(effect(config[name]) for name, effect in self._strain.items())

    def _own(self, config: Config) -> float:
        """A standard normal number that belongs to the config."""
        number = zlib.crc32(config.key.encode(), self._salt)
        return float(np.random.default_rng(number).standard_normal())


Pairs = dict[tuple[str, str], tuple[Floats, Callable[[Value], int], Callable[[Value], int]]]


def _effects(parameters: Sequence[Parameter], rng: np.random.Generator) -> dict[str, Effect]:
    """The effect of each parameter, whose strength is exponentially distributed."""
    strengths = rng.exponential(size=len(parameters))
    return {
        parameter.name: _effect(parameter, float(strength), rng)
        for parameter, strength in zip(parameters, strengths, strict=True)
        if parameter.cardinality > 1
    }


def _effect(parameter: Parameter, strength: float, rng: np.random.Generator) -> Effect:
    """From 0 for a parameter's best value to about ``strength`` for its worst."""
    if isinstance(parameter, Ordinal):
        values, best = parameter.values, rng.random()
        last = len(values) - 1
        power = rng.uniform(0.7, 2.0)
        return lambda value: strength * abs(values.index(value) / last - best) ** power
    if isinstance(parameter, Factorization):
        whole = math.log2(parameter.product)
        aims = rng.dirichlet(np.ones(parameter.parts)).tolist()
        return lambda value: (
            strength
            * sum(
                abs(math.log2(part) / whole - aim)
                for part, aim in zip(_parts(value), aims, strict=True)
            )
        )
    if isinstance(parameter, Permutation):
        return _order_effect(parameter, strength, rng)
    table = rng.random(parameter.cardinality)
    table -= table.min()
    return lambda value: strength * float(table[parameter.index_of(value)])


def _order_effect(parameter: Permutation, strength: float, rng: np.random.Generator) -> Effect:
    """That of which items come before which others, and of the item that is last."""
    pairs = list(combinations(range(len(parameter.items)), 2))
    wanted = dict(zip(pairs, rng.normal(size=len(pairs)).tolist(), strict=True))
    of_last: list[float] = rng.random(len(parameter.items)).tolist()
    most = sum(map(abs, wanted.values()))

    def effect(value: Value) -> float:
        places = parameter.encode(value)
        wrong = 0.0
        for (one, other), weight in wanted.items():
            if (places[one] < places[other]) != (weight > 0.0):
                wrong += abs(weight)
        return float(strength * (wrong / most + of_last[places.index(max(places))]) / 2)

    return effect


def _pair_effects(parameters: Sequence[Parameter], count: int, rng: np.random.Generator) -> Pairs:
    found: Pairs = {}
    several = [parameter for parameter in parameters if parameter.cardinality > 1]
    for _ in range(count):
        first, second = (several[i] for i in rng.choice(len(several), 2, replace=False))
        table = rng.exponential() * rng.random((_LEVELS, _LEVELS))
        found[first.name, second.name] = table - table.min(), _level(first), _level(second)
    return found


def _level(parameter: Parameter) -> Callable[[Value], int]:
    """To which of ``_LEVELS`` groups a value belongs; neighbours often to the same."""
    if isinstance(parameter, Permutation):
        last = len(parameter.items) - 1
        return lambda value: parameter.encode(value).index(last) % _LEVELS
    if isinstance(parameter, Factorization):
        whole = math.log2(parameter.product)
        return lambda value: min(_LEVELS - 1, int(_LEVELS * math.log2(_parts(value)[-1]) / whole))
    count = parameter.cardinality
    return lambda value: parameter.index_of(value) * min(count, _LEVELS) // count


def _parts(value: Value) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return tuple(part for part in value if isinstance(part, int))
