"""The inputs of the taps of a tile, as vectors: along the columns, or along the channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tunesmith.sketches.cpu.depthwise.windows import Axis
from tunesmith.sketches.tir import emit, shuffles
from tunesmith.sketches.tir.vectors import load_masked, store_masked, within


@dataclass(frozen=True)
class Lanes:
    """Elements ``start`` to ``start + count - 1`` of a dimension of ``size``: those that exist.

    ``start`` is a number or an expression; with an expression all of them exist, unless
    ``checked``. A ``condition`` says whether any of them do. ``fill`` is loaded for those that do
    not.
    """

    start: Any
    count: int
    size: int
    checked: bool = False
    condition: Any = None
    fill: float = 0

    def load(self, source: Any, index: Sequence[Any]) -> Any:
        """The elements along the last dimension of a buffer; None if it is known that none of them
        exist."""
        if isinstance(self.start, int) and not -self.count < self.start < self.size:
            return None
        return load_masked(source, [*index, self.start], self.count, self._mask(), self.fill)

    def store(self, target: Any, value: Any, index: Sequence[Any]) -> None:
        """Write those elements that exist."""
        store_masked(target, value, [*index, self.start], self.count, self._mask())

    def _mask(self) -> Any | None:
        """Which lanes exist; None for all of them."""
        if self.checked or isinstance(self.start, int):
            return within(self.start, self.count, self.size, self.condition)
        return None if self.condition is None else emit.broadcast(self.condition, self.count)


@dataclass(frozen=True)
class ColumnPlan:
    """How the taps of a tile's columns are made of vectors of the data's columns.

    The tile has a vector of ``lanes`` outputs at each of ``offsets`` from its first column. Its
    source vectors are ``lanes`` consecutive inputs each, at offsets from the first input of its
    first column (without padding). Where the vectors run along the channels, ``lanes`` is 1.

    With a stride, a tap takes each stride-th element of several sources. With ``shuffled``, sources
    are loaded at multiples of ``lanes`` only and shifted by shuffles, instead of loads that
    straddle cache lines.
    """

    axis: Axis
    lanes: int
    offsets: tuple[int, ...]
    shuffled: bool

    def sources(self, vector: int, tap: int) -> tuple[int, ...]:
        """The offsets of the sources of a tap."""
        low, high = self._ends(vector, tap)
        if self.shuffled:
            first = low // self.lanes * self.lanes
            return tuple(range(first, high + 1, self.lanes))
        stride = self.axis.stride
        first = low if stride == 1 or self.lanes == 1 else low // stride * stride
        return tuple(range(first, high + 1, self.lanes))

    def picks(self, vector: int, tap: int) -> list[int]:
        """Which lanes of the sources, one after the other, are the tap's."""
        low, high = self._ends(vector, tap)
        first = self.sources(vector, tap)[0]
        return list(range(low - first, high - first + 1, self.axis.stride))

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The first offset that is read, and the one after the last."""
        taps = [(vector, tap) for vector in range(len(self.offsets)) for tap in (0, -1)]
        every = [self.sources(vector, tap % self.axis.taps) for vector, tap in taps]
        return min(one[0] for one in every), max(one[-1] for one in every) + self.lanes

    def _ends(self, vector: int, tap: int) -> tuple[int, int]:
        axis = self.axis
        low = self.offsets[vector] * axis.stride + tap * axis.dilation - axis.padding
        return low, low + (self.lanes - 1) * axis.stride


class RowOfTaps:
    """The taps of one row of inputs, each source vector loaded once.

    ``load`` loads the source vector at an offset, or returns None if all of it is padding. ``zero``
    is a vector of padding.
    """

    def __init__(self, plan: ColumnPlan, load: Callable[[int], Any | None], zero: Any) -> None:
        self._plan = plan
        self._load = load
        self._zero = zero
        self._loaded: dict[int, Any | None] = {}
        self._made: dict[tuple[tuple[int, ...], int], Any] = {}

    def vector(self, vector: int, tap: int) -> Any | None:
        """The inputs of a tap for a vector of outputs; None where all of them are padding."""
        offsets = self._plan.sources(vector, tap)
        picks = self._plan.picks(vector, tap)
        sources = [self._source(offset) for offset in offsets]
        found = [source for source in sources if source is not None]
        if not found or len(sources) == 1:
            return sources[0]
        key = (offsets, picks[0])
        if key not in self._made:
            whole = [self._zero if source is None else source for source in sources]
            self._made[key] = emit.bind("tap", shuffles.shuffled(whole, picks))
        return self._made[key]

    def _source(self, offset: int) -> Any | None:
        if offset not in self._loaded:
            value = self._load(offset)
            self._loaded[offset] = None if value is None else emit.bind("inputs", value)
        return self._loaded[offset]
