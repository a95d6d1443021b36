"""Every config in index order, for small spaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tunesmith.space import Config, Space
from tunesmith.tuners.tuner import Search, Tuner


@dataclass(frozen=True)
class Grid(Tuner):
    """All valid configs in the order of their index; the seed has no influence."""

    name: ClassVar[str] = "grid"

    def start(self, space: Space, seed: int) -> GridSearch:
        return GridSearch(space, seed)


class GridSearch(Search):
    """A running enumeration of the space."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        space.sample(self.rng)  # raises for a space in which enumeration would find nothing
        self._walk: Iterator[Config] = space.enumerate()

    def next_config(self) -> Config | None:
        return next((config for config in self._walk if config not in self.seen), None)
