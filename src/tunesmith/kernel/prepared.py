"""A kernel that has its weights: what is left to give are the other arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.kernel.calling import Calling
from tunesmith.operators import Argument, Operator
from tunesmith.space import Config
from tunesmith.target import Target


@dataclass(frozen=True, eq=False)
class PreparedKernel:
    """A callable over the operator's arguments without the weights, which it keeps laid out.

    ``Kernel.prepare`` makes it. It takes and returns arrays as a ``Kernel`` does, and keeps no
    hold of the array that the weights came in.
    """

    operator: Operator
    target: Target
    config: Config | None
    _calling: Calling

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What it takes, in call order."""
        return tuple(self._calling.arguments)

    def __call__(self, *inputs: Any, out: Any | None = None) -> Any:
        """The result as a new array, or ``out`` filled with it.

        Raises ``UsageError`` for arrays that do not fit.
        """
        return self._calling.call(inputs, out)

    def bind(self, *inputs: Any) -> Callable[[], None]:
        """A call on copies of these arrays into one buffer, with nothing left to check: for timing.

        Raises ``UsageError`` for arrays that do not fit.
        """
        return self._calling.bind(inputs)

    def __repr__(self) -> str:
        return f"PreparedKernel({self.operator.key})"
