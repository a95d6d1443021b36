"""Blocked layouts: which dimensions of an input are split, and the buffer they are packed into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.tir.loop_nest import Access, LoopNest


@dataclass(frozen=True)
class Packing:
    """A blocked layout of one input of the main reduction.

    The dimensions in ``blocked`` are split by the innermost tile of their axis, and the inner parts
    become the innermost dimensions, so that a register tile reads consecutive memory. The outer
    parts of ``leading`` dimensions come first. This is NCHWc for the data of a convolution,
    OIHWo for its weights, and panels for the operands of a matrix product.
    """

    access: Access
    blocked: tuple[int, ...]
    leading: tuple[int, ...]

    def axis(self, dimension: int) -> str:
        """The axis that a blocked dimension runs along."""
        name = self.access.axes[dimension]
        assert name is not None
        return name

    @property
    def innermost_axis(self) -> str:
        """The axis along which the packed buffer is consecutive in memory."""
        return self.axis(self.blocked[-1])

    def factors(self, inner: Mapping[str, int]) -> dict[int, int]:
        """The block of each split dimension, given the innermost tile of each axis."""
        return {d: inner.get(self.axis(d), 1) for d in self.blocked}

    def index_map(self, inner: Mapping[str, int]) -> Callable[..., tuple[Any, ...]]:
        """From indices of the plain buffer to those of the packed one."""
        factors = self.factors(inner)
        rest = [d for d in range(len(self.access.shape)) if d not in self.leading]

        def packed(*index: Any) -> tuple[Any, ...]:
            outer = [index[d] // factors.get(d, 1) for d in (*self.leading, *rest)]
            return (*outer, *(index[d] % factor for d, factor in factors.items()))

        return packed


def packing_of(nest: LoopNest, access: Access) -> Packing | None:
    """The blocked layout that suits an input, or None where the plain one is as good."""
    spatial = {axis.name for axis in nest.tiled_spatial}
    reduction = {axis.name for axis in nest.tiled_reduction}
    dimensions = range(len(access.shape))
    leading = tuple(d for d in dimensions if access.axes[d] in {a.name for a in nest.spatial})
    blocked = tuple(d for d in dimensions if access.axes[d] in spatial)
    if not blocked:
        blocked = tuple(d for d in dimensions if access.axes[d] in reduction)[:1]
        if blocked == (len(access.shape) - 1,):
            return None
    return Packing(access, blocked, leading) if blocked else None
