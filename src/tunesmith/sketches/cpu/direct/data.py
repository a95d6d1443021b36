"""Where the kernel reads its data: in place, or in a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.direct.plan import Plan


@dataclass(frozen=True)
class Source:
    """Data in memory: an element's offset is ``base`` and these strides times its coordinates.

    ``outer`` is the stride of blocks of channels of the reduction, ``inner`` that of the channels
    in a block.
    """

    buffer: Any
    base: Any
    outer: int
    inner: int
    row: int
    column: int
    phase: int

    def term(self, outer: Any, inner: Any, row: Any) -> Any:
        """How far a row of a channel is from the first row of the first channel."""
        return outer * self.outer + inner * self.inner + row * self.row


def in_place(plan: Plan, data: Any, image: Any) -> Source:
    """The operator's own data, without padding."""
    op = plan.operator
    if op.layout == "NCHW":
        plane = op.h * op.w
        base = image * (plan.channels_in * plane)
        return Source(data, base, plan.block * plane, plane, op.w, 1, 0)
    number, group = plan.number_and_group(image)
    base = number * (op.h * op.w * op.ci) + group * plan.channels_in
    return Source(data, base, plan.block, 1, op.w * op.ci, op.ci, 0)


def copied(plan: Plan, buffer: Any, image: Any, rows: int) -> Source:
    """Data that were copied into ``rows`` rows of each block of channels; ``image`` of them."""
    stored, plane = plan.stored_block, rows * plan.pitch
    base = image * (plan.channels_in * plane)
    outer = plan.block * (1 if stored == plan.channels_in else plane)
    inner = plane if stored == 1 else 1
    return Source(
        buffer, base, outer, inner, plan.pitch * stored, stored, plan.stored_columns * stored
    )


def copied_elements(plan: Plan, rows: int) -> int:
    """The size of one copied image."""
    return plan.channels_in * rows * plan.pitch
