"""Copying images to their planes: padding, and columns that are a stride apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.cpu.im2col.planes import Planes
from tunesmith.sketches.tir import emit, shuffles


def fill_planes(planes: Planes, data: Any, lanes: int) -> Any:
    """Emit the parallel loop that copies data, a flat buffer of the stored type, to planes.

    Returns these, flat too. Vectors have up to ``lanes`` elements.
    """
    filled = emit.buffer("planes", (planes.images * planes.image,), planes.stored)
    rows, columns = planes.rows, planes.columns
    phases = [(row, column) for row in rows.used for column in columns.used]
    groups = 1 if planes.channels_last else planes.channels
    with emit.parallel(planes.images * groups * rows.length, "copy") as copy:
        row = emit.bind("row", copy % rows.length)
        group = emit.bind("group", copy // rows.length)
        for number, (row_phase, column_phase) in enumerate(phases):
            line = (group * len(phases) + number) * rows.length + row
            image_row = row * rows.stride + (row_phase - rows.padding)
            _Line(
                planes,
                data,
                emit.bind("begin", (group * rows.size + image_row) * (columns.size * planes.step)),
                filled,
                emit.bind("to", line * (columns.length * planes.step)),
                column_phase,
                lanes,
            ).emit(row, rows.inside(row_phase))
    return filled


@dataclass(frozen=True)
class _Line:
    """A row of a plane, at index ``to``, and the row of the image that begins at ``begin``."""

    planes: Planes
    data: Any
    begin: Any
    filled: Any
    to: Any
    phase: int
    lanes: int

    def emit(self, row: Any, inside: tuple[int, int]) -> None:
        """The columns of the image between zeros; only zeros for rows that are not ``inside``."""
        from tvm import tirx

        columns, width = self.planes.columns, self.planes.step
        there = tirx.all(row >= inside[0], row < inside[0] + inside[1])
        first, count = columns.inside(self.phase)
        with emit.when(there):
            self._zeros(0, first * width)
            self._copy(first, count)
            self._zeros((first + count) * width, (columns.length - first - count) * width)
        with emit.when(tirx.Not(there)):
            self._zeros(0, columns.length * width)

    def _zeros(self, at: int, count: int) -> None:
        for place, size in _pieces(count, self.lanes):
            zero = emit.constant(0, self.planes.stored, size)
            emit.store(self.filled, zero, [self.to + (at + place)], size)

    def _copy(self, first: int, count: int) -> None:
        """``count`` columns, ``stride`` apart in the image, from the plane's ``first`` on."""
        columns, width = self.planes.columns, self.planes.step
        start = self.begin + (first * columns.stride + self.phase - columns.padding) * width
        if columns.stride == 1:
            self._run(start, first * width, count * width)
        elif width > 1:
            with emit.serial(count, "column") as column:
                here = start + column * (columns.stride * width)
                self._run(here, (first + column) * width, width)
        elif count:
            self._every(start, first, count - 1)
            # The last one is loaded alone: there may be no memory after it.
            last = emit.load(self.data, [start + (count - 1) * columns.stride])
            emit.store(self.filled, last, [self.to + (first + count - 1)])

    def _run(self, start: Any, at: Any, count: int) -> None:
        """Consecutive elements."""
        for place, size in _pieces(count, self.lanes):
            value = emit.load(self.data, [start + place], size)
            emit.store(self.filled, value, [self.to + (at + place)], size)

    def _every(self, start: Any, at: int, count: int) -> None:
        """Every stride-th element: vectors are loaded and shuffled."""
        stride = self.planes.columns.stride
        for place, size in _pieces(count, self.lanes):
            value = emit.load(self.data, [start + place * stride])
            if size > 1:
                parts = [start + (place * stride + part * size) for part in range(stride)]
                vectors = [emit.load(self.data, [part], size) for part in parts]
                value = shuffles.shuffled(vectors, range(0, size * stride, stride))
            emit.store(self.filled, value, [self.to + (at + place)], size)


def _pieces(count: int, lanes: int) -> Iterator[tuple[Any, int]]:
    """The place and size of the vectors that cover ``count`` elements; whole ones are a loop.

    What is emitted for the first pair yielded may be the body of that loop.
    """
    whole = count // lanes
    if whole:
        with emit.serial(whole, "vector") as vector:
            yield vector * lanes, lanes
    for place, size in emit.powers_of_two(count - whole * lanes, lanes):
        yield whole * lanes + place, size
