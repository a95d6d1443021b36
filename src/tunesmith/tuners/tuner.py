"""What every tuner is made of: immutable settings, and the state of one running search."""

from __future__ import annotations

import dataclasses
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from tunesmith.errors import SpaceError, UsageError
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.tuners.options import options_of
from tunesmith.tuners.view import View

T = TypeVar("T")

# Draws that may hit a config seen before until it is looked how many are left. With half of the
# space used up the chance to need them all is 2^-64.
_DRAWS = 64

# The rest of a space is enumerated only where the space has at most so many valid configs, or so
# many for each config that the search has seen: the end of a search stays in proportion to it.
_ENUMERABLE_SIZE = 20_000
_ENUMERABLE_PER_SEEN = 16

# In a space that cannot be counted, the search ends after so many draws a seen config without
# anything new. A single config left among n seen ones is overlooked with a chance of about e^-20.
_DRAWS_PER_SEEN_BEFORE_END = 20


@dataclasses.dataclass(frozen=True)
class Tuner(ABC):
    """The settings of a search algorithm. Its fields are its options, on the command line too.

    A subclass is a frozen dataclass with a ``name``; it checks its values in ``check``. One
    object may start any number of searches. Making one raises ``UsageError`` for a value of the
    wrong type or out of range.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for option in options_of(type(self)):
            value = getattr(self, option.name)
            self.require(
                option.accepts(value),
                f"option {option.name} must be {option.type_name}, not {value!r}",
            )
        self.check()

    @abstractmethod
    def start(self, space: Space, seed: int) -> Search:
        """A new search of ``space``; the same seed and observations give the same proposals."""

    def start_on(self, view: View, seed: int) -> Search:
        """A new search that may look at more than the space: see ``View``.

        This is how a run starts its searches. Unless overridden, a tuner looks at the space alone.
        """
        return self.start(view.space, seed)

    def check(self) -> None:  # noqa: B027 # a hook
        """Raise ``UsageError`` for a value out of range. The types are right already."""

    def require(self, condition: bool, requirement: str) -> None:
        """Raise ``UsageError`` with the requirement unless the condition holds."""
        if not condition:
            raise UsageError(f"tuner '{self.name}': {requirement}")


def option(default: T, meaning: str) -> T:
    """A field of a tuner's settings with its default and a line about what it does."""
    field: T = dataclasses.field(default=default, metadata={"meaning": meaning})
    return field


class Search(ABC):
    """The running state of one search: proposes configs and learns from measurements.

    Observations may come late, in any order and in part, and ``propose`` never waits for them.
    No config is proposed twice, nor one that was observed without having been proposed (the
    records of an earlier run). An algorithm fills in ``next_config`` and, if it learns, ``learn``.
    """

    def __init__(self, space: Space, seed: int) -> None:
        if seed < 0:
            raise UsageError(f"the seed is {seed}: give 0 or more")
        self.space = space
        self.rng = np.random.default_rng(seed)
        self.seen: set[Config] = set()
        self._observed: set[Config] = set()
        self._rest: list[Config] | None = None

    def propose(self, count: int) -> list[Config]:
        """Up to ``count`` new valid configs: fewer when fewer are left, none at the end."""
        configs: list[Config] = []
        while len(configs) < count:
            config = self.next_config()
            if config is None:
                break
            self.seen.add(config)
            configs.append(config)
        return configs

    def observe(self, measurements: Sequence[Measurement]) -> None:
        """Take in measurements, each config's first one; those of unproposed configs count too.

        Raises ``SpaceError`` for a config that is not of this space, before anything is learned.
        """
        for measurement in measurements:
            if not self.space.contains(measurement.config):
                raise SpaceError(
                    f"cannot observe {measurement.config.key}: it is not a config of this space; "
                    "pass only measurements of the same problem"
                )
        for measurement in measurements:
            if measurement.config not in self._observed:
                self._observed.add(measurement.config)
                self.seen.add(measurement.config)
                self.learn(measurement)

    @abstractmethod
    def next_config(self) -> Config | None:
        """The next config to propose, valid and not in ``seen``; None when the search ends.

        The caller marks it as seen.
        """

    def learn(self, measurement: Measurement) -> None:  # noqa: B027 # a hook
        """Take in the first measurement of a config. Does nothing unless overridden."""

    def fresh_config(self) -> Config | None:
        """A uniform draw from the valid configs not seen yet; None when there is none.

        Draws until one is new; when most are not, the rest is enumerated once and then handed
        out in random order. A space far larger than what was seen is never enumerated.
        """
        if self._rest is None:
            config = self._draw(_DRAWS)
            if config is not None:
                return config
            size = self._size()
            if size is None or size > max(_ENUMERABLE_SIZE, _ENUMERABLE_PER_SEEN * len(self.seen)):
                return self._draw(_DRAWS_PER_SEEN_BEFORE_END * len(self.seen))
            rest = [] if size == len(self.seen) else list(self.space.enumerate())
            self._rest = [rest[index] for index in self.rng.permutation(len(rest))]
        while self._rest:
            config = self._rest.pop()
            if config not in self.seen:
                return config
        return None

    def _size(self) -> int | None:
        """How many valid configs the space has; None where it cannot be counted."""
        try:
            return self.space.size
        except SpaceError:
            return None

    def _draw(self, attempts: int) -> Config | None:
        for _ in range(attempts):
            config = self.space.sample(self.rng)
            if config not in self.seen:
                return config
        return None


def fitness(measurement: Measurement) -> float:
    """The throughput in calls a second as a finite number that is never negative.

    Failures have 0, and so has a time that is no positive finite number; a time too short to
    divide by has the largest float.
    """
    if not measurement.valid or not 0.0 < measurement.seconds < math.inf:
        return 0.0
    return min(1.0 / measurement.seconds, sys.float_info.max)
