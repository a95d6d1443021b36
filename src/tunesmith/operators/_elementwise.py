"""A chain of elementwise operations on a tensor."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from tunesmith.errors import UsageError
from tunesmith.operators._base import element_types
from tunesmith.operators._base.epilogue import Epilogue
from tunesmith.operators._base.operator import Argument, Array, Float64Array, Operator
from tunesmith.operators._base.options import as_option, size
from tunesmith.operators._base.post_ops import PostOpsOption, post_ops

# Of (n, c, inner).
_CHANNEL_AXIS = 1


@dataclass(frozen=True, kw_only=True, repr=False)
class Elementwise(Operator):
    """``post_ops`` one after the other on each element of (n, c, inner).

    Tensors of any other shape have this one, too: images have n, c and inner = h * w; rows of
    transformers, whose last axis are the channels, have inner = 1; tensors without operands per
    channel have only inner. A number for each image and channel, (n, c, 1, 1), is one per channel
    of (1, n * c, h * w).
    """

    name: ClassVar[str] = "elementwise"
    summary: ClassVar[str] = "a chain of elementwise operations"
    signature: ClassVar[tuple[str, ...]] = ("data (n, c, inner)",)

    n: int = field(default=1, metadata=size("what is outside of the channels, such as images"))
    c: int = field(default=1, metadata=size("channels"))
    inner: int = field(metadata=size("elements of a channel side by side, such as an image's"))
    post_ops: str = field(
        metadata=as_option(PostOpsOption("the operations, such as affine:2:1+silu"))
    )

    def _check_shapes(self) -> None:
        if not self.epilogue.post_ops:
            raise UsageError("elementwise: post_ops is empty: give one, such as relu")
        for post_op in self.epilogue.post_ops:
            post_op.check_dtype(self.name, self.dtype)

    @cached_property
    def epilogue(self) -> Epilogue:
        """The chain."""
        return Epilogue(post_ops=post_ops(self.post_ops))

    @property
    def arguments(self) -> tuple[Argument, ...]:
        shape = (self.n, self.c, self.inner)
        return (
            Argument("data", shape, self.dtype),
            *self.epilogue.arguments(self.result, _CHANNEL_AXIS),
        )

    @property
    def result(self) -> Argument:
        return Argument("output", (self.n, self.c, self.inner), self.dtype)

    @property
    def flops(self) -> int:
        return self.epilogue.operations * self.result.elements

    @property
    def tolerance(self) -> tuple[float, float]:
        relative = self._relative_tolerance(self.epilogue.operations)
        rounding = relative - 4 * element_types.unit_roundoff(self.dtype)
        return relative, rounding * max(1.0, self.epilogue.growth)

    def make_inputs(self, seed: int) -> list[Array]:
        """Random inputs as of other operators; in [1/2, 3/2) where a post-op is for positive ones.

        Post-ops that enlarge errors without a bound do so little for such values (``PostOp``).
        """
        drawn = super().make_inputs(seed)
        if not any(post_op.definition.positive for post_op in self.epilogue.post_ops):
            return drawn
        return [(array.astype("float64") / 2 + 1).astype(array.dtype) for array in drawn]

    def _define(self, inputs: list[Any]) -> Any:
        """The one stage "epilogue"; arithmetic in the accumulator's type."""
        data, *extra = inputs
        return self.epilogue.define(
            data, extra, _CHANNEL_AXIS, self.dtype, computed=self.accumulate_dtype
        )

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        data, *extra = inputs
        return self.epilogue.evaluate(data, extra, _CHANNEL_AXIS)
