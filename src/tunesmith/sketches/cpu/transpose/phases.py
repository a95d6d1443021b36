"""A transposed convolution as plain ones: along each axis, one for each phase of its stride.

Input ``i`` and tap ``k`` add to output ``i * stride + k - padding``. So an output depends only on
taps of one remainder by the stride, its phase. The outputs of a phase, ``stride`` apart, are a
convolution of stride 1 with these taps: nothing is multiplied by the zeros of a dilated input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tunesmith.operators import Conv2dTranspose


@dataclass(frozen=True)
class PhaseGroup:
    """Phases ``first`` to before ``first + count`` of an axis, which have ``taps`` taps each."""

    first: int
    count: int
    taps: int


@dataclass(frozen=True)
class Axis:
    """Rows or columns of a transposed convolution; everything is in elements.

    Outputs are counted by phase, ``steps`` of them; the last one may be beyond the output. The
    number of a phase is the remainder of its taps; that of its outputs is ``place``.
    """

    size: int
    kernel: int
    stride: int
    padding: int
    output: int

    @property
    def steps(self) -> int:
        """Outputs of a phase."""
        return -(-self.output // self.stride)

    @property
    def groups(self) -> list[PhaseGroup]:
        """The phases by their number of taps, the larger one first."""
        taps, longer = divmod(self.kernel, self.stride)
        groups = [
            PhaseGroup(0, longer, taps + 1),
            PhaseGroup(longer, self.stride - longer, taps),
        ]
        return [group for group in groups if group.count]

    def place(self, phase: Any) -> Any:
        """The remainder by the stride of the outputs of a phase, a number or an expression."""
        return (phase + (-self.padding) % self.stride) % self.stride

    def ahead(self, phase: Any) -> Any:
        """The last input of the first output of a phase."""
        return (self.place(phase) + self.padding) // self.stride

    def start(self, phase: Any, taps: int) -> Any:
        """The first element of the padded input of the first output of a phase."""
        return self.ahead(phase) + (self.margin - (taps - 1))

    @property
    def margin(self) -> int:
        """Zeros on each side of the input that are enough for all phases."""
        margin = 0
        for group in self.groups:
            for phase in range(group.first, group.first + group.count) if group.taps else ():
                last = self.ahead(phase)
                margin = max(margin, group.taps - 1 - last, self.steps + last - self.size)
        return margin


def axes(operator: Conv2dTranspose) -> tuple[Axis, Axis]:
    """Rows and columns."""
    rows, columns = (
        Axis(*extents)
        for extents in zip(
            (operator.h, operator.w),
            operator.kernel,
            operator.stride,
            operator.padding,
            operator.output_image,
            strict=True,
        )
    )
    return rows, columns
