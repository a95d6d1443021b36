"""A kernel with prepared weights: calls take only the other arrays."""

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
    """A callable over the operator's arguments without the weights, which it holds laid out.

    ``Kernel.prepare`` makes it. It takes and returns arrays like a ``Kernel``, and does not keep
    the caller's array of weights alive.
    """

    operator: Operator
    target: Target
    config: Config | None
    _calling: Calling

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of a call, in order."""
        return tuple(self._calling.arguments)

    def __call__(self, *inputs: Any, out: Any | None = None) -> Any:
        """The result as a new array, or ``out`` filled with it.

        Raises ``UsageError`` for arrays that do not fit; for a GPU also ``TunesmithError`` if the
        call fails.
        """
        return self._calling.call(inputs, out)

    def bind(self, *inputs: Any) -> Callable[[], None]:
        """A call without checks on copies of these arrays, into one buffer: for timing. On a GPU it
        waits for the GPU.

        Raises ``UsageError`` for arrays that do not fit; for a GPU also ``TunesmithError`` if the
        call fails.
        """
        return self._calling.bind(inputs)

    def __repr__(self) -> str:
        return f"PreparedKernel({self.operator.key})"
