"""Images in a layout in which a tap of neighbouring windows is contiguous.

A tap of windows that are ``stride`` apart reads elements that are ``stride`` apart. So an image is
split into planes, one for each remainder of row and column by the stride that some tap reads (its
phase), and padded. Then a tap of all windows is the plane itself from some offset on: that of
window (y, x) is ``y * width + x`` elements after it. No patch is copied, but some windows that do
not exist are computed: those that begin in the last columns of a plane and end in its next row.

An image without padding that is read with stride 1 is its own plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tunesmith.operators import Conv2d


@dataclass(frozen=True)
class Phases:
    """One axis of an image (``size`` elements, ``count`` windows) split by the stride.

    ``padding`` is that before the image. How much there is behind it follows from the windows.
    """

    size: int
    count: int
    taps: int
    stride: int
    padding: int
    dilation: int

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The phases that some tap reads."""
        return tuple(sorted({tap * self.dilation % self.stride for tap in range(self.taps)}))

    @cached_property
    def length(self) -> int:
        """How many elements of a phase the windows cover."""
        return self.count + (self.taps - 1) * self.dilation // self.stride

    def place(self, tap: int) -> tuple[int, int]:
        """The number of a tap's phase, and its offset in it."""
        shift, phase = divmod(tap * self.dilation, self.stride)
        return self.used.index(phase), shift

    def inside(self, phase: int) -> tuple[int, int]:
        """The first element of a phase that is in the image, not padding, and their number."""
        offset = phase - self.padding
        first = min(self.length, max(0, -(offset // self.stride)))
        behind = min(self.length, max(first, -((offset - self.size) // self.stride)))
        return first, behind - first


@dataclass(frozen=True)
class Planes:
    """The planes of the images of a convolution: (n, channel, phase, row, column) for NCHW and
    (n, phase, row, column, channel) for NHWC.

    ``stored`` is the type of their elements: uint16 for bfloat16, which TIR would convert to
    float32 where it is only moved.
    """

    images: int
    channels: int
    rows: Phases
    columns: Phases
    channels_last: bool
    stored: str

    @staticmethod
    def of(operator: Conv2d) -> Planes:
        """The planes of an operator's data."""
        rows, columns = (
            Phases(*numbers)
            for numbers in zip(
                (operator.h, operator.w),
                operator.output_image,
                operator.kernel,
                operator.stride,
                operator.padding[:2],
                operator.dilation,
                strict=True,
            )
        )
        last = operator.layout == "NHWC"
        stored = "uint16" if operator.dtype == "bfloat16" else operator.dtype
        return Planes(operator.n, operator.ci, rows, columns, last, stored)

    @property
    def in_place(self) -> bool:
        """Whether the data are their planes."""
        axes = (self.rows, self.columns)
        return all(
            axis.stride == 1 and axis.padding == 0 and axis.length == axis.size for axis in axes
        )

    @property
    def plane(self) -> int:
        """Elements of a plane of one channel."""
        return self.rows.length * self.columns.length

    @property
    def image(self) -> int:
        """Elements of all planes of an image."""
        return self.channels * len(self.rows.used) * len(self.columns.used) * self.plane

    @property
    def windows(self) -> int:
        """Windows of a plane from the first to the last one that exists, all between included."""
        return (self.rows.count - 1) * self.columns.length + self.columns.count

    @property
    def step(self) -> int:
        """From a window's element to its neighbour's."""
        return self.channels if self.channels_last else 1

    @property
    def taps(self) -> int:
        """How many taps a window has."""
        return self.rows.taps * self.columns.taps

    def tap(self, row: int, column: int) -> int:
        """Where a tap of the first window's first channel lies."""
        row_phase, down = self.rows.place(row)
        column_phase, right = self.columns.place(column)
        phase = row_phase * len(self.columns.used) + column_phase
        return (phase * self.plane + down * self.columns.length + right) * self.step

    @property
    def channel(self) -> int:
        """From an element to that of the next channel."""
        return 1 if self.channels_last else self.image // self.channels
