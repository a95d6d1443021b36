"""Sums, means and extremes over neighbouring axes of any tensor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tunesmith.operators._base.operator import Argument, Float64Array, Operator
from tunesmith.operators._base.options import choice, size


@dataclass(frozen=True, kw_only=True, repr=False)
class Reduce(Operator):
    """``output[o, i]`` is the mean, the sum, the maximum or the minimum of ``data[o, :, i]``.

    A tensor of any rank, reduced over neighbouring axes, has this shape: ``outer`` is the product
    of the sizes of the axes before them, ``inner`` that of the axes after them.
    """

    name: ClassVar[str] = "reduce"
    summary: ClassVar[str] = "mean, sum or extreme over neighbouring axes of any tensor"
    signature: ClassVar[tuple[str, ...]] = ("data (outer, n, inner)",)

    outer: int = field(default=1, metadata=size("elements of all axes before those reduced"))
    n: int = field(metadata=size("elements that become one"))
    inner: int = field(default=1, metadata=size("elements of all axes after those reduced"))
    kind: str = field(
        default="mean", metadata=choice("what is taken of them", "mean", "sum", "max", "min")
    )

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (Argument("data", (self.outer, self.n, self.inner), self.dtype),)

    @property
    def result(self) -> Argument:
        return Argument("output", (self.outer, self.inner), self.dtype)

    @property
    def flops(self) -> int:
        """One per element, and one for the division of a mean."""
        return self.result.elements * (self.n + (self.kind == "mean"))

    @property
    def tolerance(self) -> tuple[float, float]:
        if self.kind in ("max", "min"):
            return 0.0, 0.0
        relative, absolute = self._sum_tolerance(self.n)
        return relative, absolute / self.n if self.kind == "mean" else absolute

    def _define(self, inputs: list[Any]) -> Any:
        """Stages "reduce", and "mean" or "rounded" where the sums are not yet the result."""
        from tvm import te

        (data,) = inputs
        shape, total = self.result.shape, self.accumulate_dtype
        r = te.reduce_axis((0, self.n), name="r")
        if self.kind in ("max", "min"):
            extreme = te.max if self.kind == "max" else te.min
            return te.compute(shape, lambda o, i: extreme(data[o, r, i], axis=r), name=self.name)
        sums = te.compute(
            shape, lambda o, i: te.sum(data[o, r, i].astype(total), axis=r), name=self.name
        )
        if self.kind == "mean":
            length = te.const(self.n, total)
            return te.compute(
                shape, lambda o, i: (sums[o, i] / length).astype(self.dtype), name="mean"
            )
        if total == self.dtype:
            return sums
        return te.compute(shape, lambda o, i: sums[o, i].astype(self.dtype), name="rounded")

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        reduced: Float64Array = getattr(inputs[0], self.kind)(axis=1)
        return reduced
