"""The base classes of tuners: immutable settings, and the state of a running search."""

from __future__ import annotations

import dataclasses
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from tunesmith.errors import NoConfigFoundError, SpaceError, UsageError
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.tuners.options import options_of
from tunesmith.tuners.view import View

_LOGGER = logging.getLogger("tunesmith")

T = TypeVar("T")

# Draws that may all hit seen configs before the remaining ones are counted. If half of the space is
# seen, the probability of that is 2^-64.
_DRAWS = 64

# The remaining configs of a space are enumerated only if the space has at most this many valid
# configs, or this many per seen config, so that the cost stays in proportion to the search.
_ENUMERABLE_SIZE = 20_000
_ENUMERABLE_PER_SEEN = 16

# In a space that cannot be counted, the search ends after this many draws per seen config without a
# new one. The last new config among n is missed with a probability of about e^-20.
_DRAWS_PER_SEEN_BEFORE_END = 20


@dataclasses.dataclass(frozen=True)
class Tuner(ABC):
    """The settings of a search algorithm. Its fields are its options, also on the command line.

    A subclass is a frozen dataclass with a ``name``; it checks its values in ``check``. One object
    may start any number of searches. The constructor raises ``UsageError`` for a value of the wrong
    type or out of range.
    """

    name: ClassVar[str]

    random_start_option: ClassVar[str | None] = None
    """The option with the number of random configs that a search begins with, where these may be
    most of a short run; None: there is none, or they are always few."""

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
        """A new search of ``space``; the same seed and the same calls give the same proposals.

        Raises ``UsageError`` for a negative seed or an option that does not fit, ``SpaceError``,
        here or in ``propose``, for a space without a valid config, and ``MissingDependencyError``
        without a package that it needs.
        """

    def start_on(self, view: View, seed: int) -> Search:
        """A new search that may use estimates and features: see ``View``.

        A run starts its searches with this. By default it calls ``start`` with the space. Raises
        like ``start``, and ``UsageError`` for features that the problem does not have.
        """
        return self.start(view.space, seed)

    def random_start(self, *, transfers: bool = False) -> int:  # noqa: ARG002 # of few tuners
        """How many random configs a search begins with that knows no trial yet, and a model of
        other tasks only if it ``transfers``; 0 for tuners without such a phase, as random search,
        or with one that is always short, as ``auto``."""
        option = self.random_start_option
        return 0 if option is None else int(getattr(self, option))

    def check(self) -> None:  # noqa: B027 # a hook
        """Raise ``UsageError`` for a value out of range. The types have been checked."""

    def require(self, condition: bool, requirement: str) -> None:
        """Raise ``UsageError`` with the requirement unless the condition holds."""
        if not condition:
            raise UsageError(f"tuner '{self.name}': {requirement}")

    def require_least(self, least: int, *names: str) -> None:
        """Raise ``UsageError`` unless these options are at least ``least``."""
        for name in names:
            value = getattr(self, name)
            self.require(value >= least, f"{name} must be {least} or more, not {value}")

    def require_share(self, name: str, *, above_0: bool = False, below_1: bool = False) -> None:
        """Raise ``UsageError`` unless this option is between 0 and 1, or strictly so at an end."""
        value = getattr(self, name)
        is_above = value > 0.0 if above_0 else value >= 0.0
        is_below = value < 1.0 if below_1 else value <= 1.0
        words = "between 0 and 1"
        if above_0 or below_1:
            words = "more than 0" if above_0 else "0 or more"
            words += " and less than 1" if below_1 else " and at most 1"
        self.require(is_above and is_below, f"{name} must be {words}, not {value}")


def option(default: T, meaning: str) -> T:
    """A field of a tuner's settings, with its default and its meaning in one line."""
    field: T = dataclasses.field(default=default, metadata={"meaning": meaning})
    return field


class Search(ABC):
    """The running state of one search: proposes configs and learns from measurements.

    Observations may be late, out of order or missing, and ``propose`` never waits for them. No
    config is proposed twice, nor after it was observed (in the records of an earlier run). A
    subclass defines ``next_config`` and, if it learns, ``learn``. Raises ``UsageError`` for a
    negative seed.
    """

    def __init__(self, space: Space, seed: int) -> None:
        if seed < 0:
            raise UsageError(f"the seed is {seed}: give 0 or more")
        self.space = space
        self.rng = np.random.default_rng(seed)
        self.seen: set[Config] = set()
        self._observed: set[Config] = set()
        self._rest: list[Config] | None = None
        self._draws_are_vain = False

    def propose(self, count: int) -> list[Config]:
        """Up to ``count`` new valid configs: fewer if fewer are left, none at the end.

        Raises ``SpaceError`` where no valid config is found from the beginning.
        """
        configs: list[Config] = []
        while len(configs) < count:
            config = self.next_config()
            if config is None:
                break
            self.seen.add(config)
            configs.append(config)
        return configs

    def observe(self, measurements: Sequence[Measurement]) -> None:
        """Learn from the first measurement of each config, whether it was proposed or not.

        Numbers that make no sense, such as a time of NaN, are those of a trial that failed: see
        ``Measurement.checked``.

        Raises ``SpaceError`` for a config that is not in this space, before anything is learned.
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
                self.learn(measurement.checked())

    @abstractmethod
    def next_config(self) -> Config | None:
        """The next config to propose, valid and not in ``seen``; None when the search ends.

        The caller marks it as seen.
        """

    def learn(self, measurement: Measurement) -> None:  # noqa: B027 # a hook
        """Learn from the first measurement of a config. Does nothing unless overridden."""

    def fresh_config(self) -> Config | None:
        """A uniform draw from the valid configs not seen yet; None if there is none.

        It draws until a config is new. If most are not, the remaining ones are enumerated once and
        returned in random order. A space far larger than what was seen is never enumerated. Where
        drawing finds no valid config any more, there is none left. Raises ``SpaceError`` where that
        is so from the beginning.
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
        """The number of valid configs; None if they cannot be counted."""
        try:
            return self.space.size
        except SpaceError:
            return None

    def some_configs(self, count: int) -> list[Config]:
        """``count`` random configs, or all if there are fewer; all those that were seen, however
        many, where hardly any is valid and drawing finds none. Raises ``SpaceError`` where nothing
        was seen either."""
        try:
            return self.space.sample_many(count, self.rng)
        except NoConfigFoundError:
            if not self.seen:
                raise
            # In an order that is the same in every process.
            return sorted(self.seen, key=lambda config: config.key)

    def some_config(self) -> Config:
        """A random config, as ``some_configs`` has them."""
        try:
            return self.space.sample(self.rng)
        except NoConfigFoundError:
            return self.some_configs(1)[0]

    def _draw(self, attempts: int) -> Config | None:
        if self._draws_are_vain:
            return None
        for _ in range(attempts):
            try:
                config = self.space.sample(self.rng)
            except NoConfigFoundError as error:
                if not self.seen:
                    raise
                self._draws_are_vain = True
                _LOGGER.warning("tunesmith: there are no further random configs: %s", error)
                return None
            if config not in self.seen:
                return config
        return None


def fitness(measurement: Measurement) -> float:
    """The throughput in calls per second, finite and not negative.

    It is 0 for failures and for times that are not positive and finite.
    """
    if not measurement.valid or not 0.0 < measurement.seconds < math.inf:
        return 0.0
    return measurement.throughput
