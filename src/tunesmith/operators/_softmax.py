"""Softmax over the last axis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.operators._base.operator import Argument, Float64Array, Operator
from tunesmith.operators._base.options import size


@dataclass(frozen=True, kw_only=True, repr=False)
class Softmax(Operator):
    """``output[m, n] = e[m, n] / sum of e[m, :]`` with ``e = exp(data - max of data[m, :])``."""

    name: ClassVar[str] = "softmax"
    summary: ClassVar[str] = "softmax of each row"
    signature: ClassVar[tuple[str, ...]] = ("data (m, n)",)

    m: int = field(metadata=size("rows"))
    n: int = field(metadata=size("length of a row"))

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (Argument("data", (self.m, self.n), self.dtype),)

    @property
    def result(self) -> Argument:
        return Argument("output", (self.m, self.n), self.dtype)

    @property
    def flops(self) -> int:
        """Five per element: compare, subtract, exponentiate, add, divide."""
        return 5 * self.m * self.n

    @property
    def tolerance(self) -> tuple[float, float]:
        # All terms are positive and within a factor of e^2, so the errors are relative.
        return self._relative_tolerance(self.n), 0.0

    def _define(self, inputs: list[Any]) -> Any:
        """Stages "max", "exp", "sum" and "normalise"; arithmetic in the accumulator's type."""
        from tvm import te

        (data,) = inputs
        total, shape = self.accumulate_dtype, (self.m, self.n)
        r = te.reduce_axis((0, self.n), name="r")
        s = te.reduce_axis((0, self.n), name="s")
        peak = te.compute((self.m,), lambda i: te.max(data[i, r], axis=r), name="max")
        powers = te.compute(
            shape,
            lambda i, j: te.exp(data[i, j].astype(total) - peak[i].astype(total)),
            name="exp",
        )
        sums = te.compute((self.m,), lambda i: te.sum(powers[i, s], axis=s), name="sum")
        return te.compute(
            shape, lambda i, j: (powers[i, j] / sums[i]).astype(self.dtype), name="normalise"
        )

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        (data,) = inputs
        powers = np.exp(data - data.max(axis=1, keepdims=True))
        normalised: Float64Array = powers / powers.sum(axis=1, keepdims=True)
        return normalised
