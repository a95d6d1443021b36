"""What a reduction does with two values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.tir import emit

_NEUTRAL = {"max": -math.inf, "min": math.inf}


@dataclass(frozen=True)
class Combining:
    """A reduction to a sum, a maximum or a minimum; a mean is a sum divided by ``count``.

    ``total`` is the type that is computed in.
    """

    kind: str
    total: str
    count: int = 1

    @property
    def neutral(self) -> float:
        """The value that changes no other one."""
        return _NEUTRAL.get(self.kind, 0.0)

    @property
    def combine(self) -> Callable[[Any, Any], Any]:
        """The function of two values."""
        if self.kind == "max":
            return emit.maximum
        return emit.minimum if self.kind == "min" else lambda value, other: value + other

    def neutral_vector(self, lanes: int) -> Any:
        """A vector of the neutral value."""
        return emit.constant(self.neutral, self.total, lanes)

    def finished(self, value: Any, lanes: int) -> Any:
        """The results of a vector of sums or extremes."""
        return (
            value if self.count == 1 else value * emit.constant(1 / self.count, self.total, lanes)
        )
