"""A task: an operator to make fast on a target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tunesmith.operators import Operator
from tunesmith.target import Target


@dataclass(frozen=True)
class Task:
    """Operator and target. ``key`` names the task in a store, on every machine alike."""

    operator: Operator
    target: Target | str = "cpu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", Target.of(self.target))

    @cached_property
    def on(self) -> Target:
        """The target, whichever way it was given."""
        assert isinstance(self.target, Target)
        return self.target

    @cached_property
    def key(self) -> str:
        return f"{self.operator.key}@{self.on.key}"
