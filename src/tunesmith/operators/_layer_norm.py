"""Layer normalisation over the last axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.operators._base import element_types
from tunesmith.operators._base.operator import Argument, Float64Array, Operator
from tunesmith.operators._base.options import NumberOption, as_option, size

# Rows of at least this many random numbers have a variance well away from zero.
_LONG_ROW = 16


@dataclass(frozen=True, kw_only=True, repr=False)
class LayerNorm(Operator):
    """``(data - mean) / sqrt(variance + eps) * gamma + beta``, each row with its own statistics.

    The variance is the biased one (divided by n), computed in a second pass from the differences.
    """

    name: ClassVar[str] = "layer_norm"
    summary: ClassVar[str] = "each row brought to mean 0 and variance 1, then scaled and shifted"
    signature: ClassVar[tuple[str, ...]] = ("data (m, n)", "gamma (n)", "beta (n)")

    m: int = field(metadata=size("rows"))
    n: int = field(metadata=size("length of a row"))
    eps: float = field(default=1e-5, metadata=as_option(NumberOption("added to the variance")))

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (
            Argument("data", (self.m, self.n), self.dtype),
            Argument("gamma", (self.n,), self.dtype),
            Argument("beta", (self.n,), self.dtype),
        )

    @property
    def result(self) -> Argument:
        return Argument("output", (self.m, self.n), self.dtype)

    @property
    def flops(self) -> int:
        """Eight per element: one for the mean, three for the variance, four to normalise."""
        return 8 * self.m * self.n

    @property
    def tolerance(self) -> tuple[float, float]:
        # The mean's rounding error is divided by the deviation, which in a short row may be tiny.
        amplification = 4.0 if self.n >= _LONG_ROW else 1 / math.sqrt(self.eps)
        relative = self._relative_tolerance(self.n)
        rounding = element_types.unit_roundoff(self.accumulate_dtype)
        return relative, relative + 4 * amplification * rounding

    def _define(self, inputs: list[Any]) -> Any:
        """Stages "sum", "mean", "squares" (of the differences), "variance" and "normalise"."""
        from tvm import te

        data, gamma, beta = inputs
        total, rows = self.accumulate_dtype, (self.m,)
        length, eps = te.const(self.n, total), te.const(self.eps, total)
        r = te.reduce_axis((0, self.n), name="r")
        s = te.reduce_axis((0, self.n), name="s")

        def difference(i: Any, j: Any) -> Any:
            return data[i, j].astype(total) - mean[i]

        def normalised(i: Any, j: Any) -> Any:
            scaled = difference(i, j) * te.rsqrt(variance[i] + eps) * gamma[j].astype(total)
            return (scaled + beta[j].astype(total)).astype(self.dtype)

        sums = te.compute(rows, lambda i: te.sum(data[i, r].astype(total), axis=r), name="sum")
        mean = te.compute(rows, lambda i: sums[i] / length, name="mean")
        squares = te.compute(
            rows, lambda i: te.sum(difference(i, s) * difference(i, s), axis=s), name="squares"
        )
        variance = te.compute(rows, lambda i: squares[i] / length, name="variance")
        return te.compute((self.m, self.n), normalised, name="normalise")

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        data, gamma, beta = inputs
        difference = data - data.mean(axis=1, keepdims=True)
        variance = np.square(difference).mean(axis=1, keepdims=True)
        normalised: Float64Array = difference / np.sqrt(variance + self.eps) * gamma + beta
        return normalised
