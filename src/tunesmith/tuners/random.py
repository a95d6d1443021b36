"""Uniform sampling without replacement: the baseline for every tuner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tunesmith.space import Config, Space
from tunesmith.tuners.tuner import Search, Tuner


@dataclass(frozen=True)
class Random(Tuner):
    """Uniform random draws from the valid configs, without replacement."""

    name: ClassVar[str] = "random"

    def start(self, space: Space, seed: int) -> RandomSearch:
        return RandomSearch(space, seed)


class RandomSearch(Search):
    """A running random search."""

    def next_config(self) -> Config | None:
        return self.fresh_config()
