"""Candidates of a model: configs near a config and random ones, with their coordinates."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tunesmith.features import Coordinates
from tunesmith.models.distances import typical_distance
from tunesmith.space import Config, Space, Value

Array = npt.NDArray[np.float64]

# For a parameter with more values, this many are drawn by random walks instead.
_MOST_VALUES = 32
_WALK = 0.7

# The most neighbours of a config: with many parameters it has hundreds.
_MOST_NEIGHBOURS = 128

# The most variations of a config, which with many parameters has thousands.
_MOST_VARIATIONS = 1024


@dataclass(frozen=True)
class Choices:
    """Configs, and their coordinates, shape (configs, coordinates)."""

    configs: list[Config]
    rows: Array

    @classmethod
    def of(cls, configs: list[Config], coordinates: Coordinates) -> Self:
        """These configs, with their coordinates."""
        return cls(configs, coordinates.of_all(configs))

    def without(self, seen: Container[Config]) -> Choices:
        """Those that are not among ``seen``, each once."""
        places = {config: place for place, config in enumerate(self.configs)}
        return self.some([place for config, place in places.items() if config not in seen])

    def some(self, numbers: list[int] | npt.NDArray[np.int64]) -> Choices:
        """The choices at these indices."""
        return Choices([self.configs[i] for i in numbers], self.rows[numbers])

    @staticmethod
    def joined(parts: list[Choices]) -> Choices:
        """The choices of all ``parts``, of which there is at least one."""
        configs = [config for part in parts for config in part.configs]
        return Choices(configs, np.concatenate([part.rows for part in parts]))


class Neighbourhood:
    """The configs near a config, cached.

    ``neighbours`` differ in one parameter by an adjacent value, ``variations`` in one parameter by
    any value.
    """

    def __init__(self, space: Space, coordinates: Coordinates, rng: np.random.Generator) -> None:
        self._space = space
        self._coordinates = coordinates
        self._rng = rng
        self._neighbours: dict[Config, Choices] = {}
        self._variations: dict[Config, Choices] = {}

    def neighbours(self, config: Config) -> Choices:
        """Adjacent configs."""
        if config not in self._neighbours:
            around = self._space.neighbours(config)
            if len(around) > _MOST_NEIGHBOURS:
                chosen = self._rng.choice(len(around), _MOST_NEIGHBOURS, replace=False)
                around = [around[i] for i in chosen]
            self._neighbours[config] = Choices.of(around, self._coordinates)
        return self._neighbours[config]

    def variations(self, config: Config) -> Choices:
        """Configs with another value of one parameter."""
        if config not in self._variations:
            found = [
                changed
                for name, values in self._other_values(config)
                for changed in self._space.changed(config, name, values)
            ]
            if len(found) > _MOST_VARIATIONS:
                chosen = self._rng.choice(len(found), _MOST_VARIATIONS, replace=False)
                found = [found[i] for i in chosen]
            self._variations[config] = Choices.of(found, self._coordinates)
        return self._variations[config]

    def _other_values(self, config: Config) -> Iterator[tuple[str, list[Value]]]:
        for parameter in self._space.parameters:
            value = config[parameter.name]
            if parameter.cardinality <= _MOST_VALUES:
                place = parameter.index_of(value)
                numbers = [n for n in range(parameter.cardinality) if n != place]
                values = [parameter.value_at(number) for number in numbers]
            else:
                walks = range(_MOST_VALUES)
                drawn = [parameter.random_walk(value, _WALK, self._rng) for _ in walks]
                values = [other for other in dict.fromkeys(drawn) if other != value]
            yield parameter.name, values


class Pool:
    """A pool of random configs, whose coordinates are computed once.

    With probability ``round_share`` a draw is in proportion to ``relative_roundness``, otherwise
    uniform.
    """

    def __init__(
        self,
        configs: list[Config],
        coordinates: Coordinates,
        round_share: float,
        rng: np.random.Generator,
    ) -> None:
        self.choices = Choices.of(configs, coordinates)
        weights = coordinates.relative_roundness(self.choices.rows)
        even = np.full(len(weights), 1.0 / len(weights))
        self._chances = round_share * weights / weights.sum() + (1.0 - round_share) * even
        self._rng = rng

    @property
    def distance(self) -> float:
        """The mean distance of two configs: see ``typical_distance``."""
        return typical_distance(self.choices.rows)

    def draw(self, count: int) -> Choices:
        """``count`` draws with replacement."""
        total = len(self.choices.configs)
        return self.choices.some(self._rng.choice(total, size=count, p=self._chances))

    def first(self, count: int) -> list[Config]:
        """Up to ``count`` draws without replacement."""
        total = len(self.choices.configs)
        count = min(count, int(np.count_nonzero(self._chances)))
        numbers = self._rng.choice(total, size=count, replace=False, p=self._chances)
        return [self.choices.configs[i] for i in numbers]
