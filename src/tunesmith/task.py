"""A task: an operator to tune for a target."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from functools import cached_property

from tunesmith.errors import UsageError
from tunesmith.operators import Operator
from tunesmith.target import Target


@dataclass(frozen=True, init=False)
class Task:
    """An operator and a target, which may be given by its kind: ``Task(layer, target="cpu")``.

    ``key`` identifies the task in a store, on every machine. Raises ``UsageError`` if ``operator``
    is not an operator, and for an unknown kind of target.
    """

    operator: Operator
    target: Target

    def __init__(self, operator: Operator, target: Target | str = "cpu") -> None:
        if not isinstance(operator, Operator):
            raise UsageError(
                f"a task needs an operator such as operators.matmul(m=8, n=8, k=8), not "
                f"{reprlib.repr(operator)}"
            )
        # The dataclass is frozen.
        object.__setattr__(self, "operator", operator)
        object.__setattr__(self, "target", Target.of(target))

    @cached_property
    def key(self) -> str:
        """Operator with all its options, and target: ``matmul(m=512,…)@cpu``."""
        return f"{self.operator.key}@{self.target.key}"
