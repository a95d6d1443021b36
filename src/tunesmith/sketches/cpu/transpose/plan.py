"""A config of transposed convolution on an operator, in numbers: phases, tiles, bands, tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from tunesmith.operators import Conv2d, Conv2dTranspose, conv2d
from tunesmith.sketches.cpu.direct.plan import Plan
from tunesmith.sketches.cpu.transpose.phases import Axis, PhaseGroup, axes
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.multiply_add import moves_sums
from tunesmith.space import Config
from tunesmith.target import Target

# Fields that the plans of phases take from the whole one.
_TILE = ("vectorize", "tile_rows", "tile_columns", "tile_channels", "block", "steps")
_SAME = (*_TILE, "lanes", "order", "data", "prefetch", "moves_sums")


class PhasePlan(Plan):
    """A direct convolution whose rows and columns are two axes, however small its window is."""

    @property
    def flat(self) -> bool:
        return False

    @property
    def holds_vectors(self) -> bool:
        """Whether there are fewer vectors than broadcasts."""
        tile = self.tile
        counts = {"columns": tile.rows * tile.columns, "channels": tile.channels}
        return counts.pop(self.vectorize) <= sum(counts.values())


@dataclass(frozen=True)
class Group:
    """Phases of rows and columns with equally many taps, and the convolution that each is.

    It computes a band of rows of a tile of channels, before results are interleaved. ``before`` is
    the number of weights of a pair of channels in the groups before this one.
    """

    rows: PhaseGroup
    columns: PhaseGroup
    plan: PhasePlan
    before: int

    @property
    def taps(self) -> int:
        return self.rows.taps * self.columns.taps

    @property
    def phases(self) -> int:
        return self.rows.count * self.columns.count


@dataclass(frozen=True)
class TransposePlan:
    """What is computed how; ``lanes`` and ``moves_sums`` are as in ``Plan``."""

    operator: Conv2dTranspose
    lanes: int
    vectorize: str
    tile_rows: int
    tile_columns: int
    tile_channels: int
    block: int
    steps: int
    order: str
    split_channels: int
    split_rows: int
    copy: str
    data: str
    prefetch: int
    moves_sums: bool

    @classmethod
    def of(cls, operator: Conv2dTranspose, target: Target, config: Config) -> TransposePlan:
        lanes, moves = target.lanes(operator.accumulate_dtype), moves_sums(target)
        return cls(operator=operator, lanes=lanes, moves_sums=moves, **config)  # type: ignore[arg-type]

    @cached_property
    def rows(self) -> Axis:
        return axes(self.operator)[0]

    @cached_property
    def columns(self) -> Axis:
        return axes(self.operator)[1]

    @property
    def phases(self) -> int:
        """The number of phases of rows and columns together."""
        return math.prod(self.operator.stride)

    # -- convolutions

    @cached_property
    def grid(self) -> PhasePlan:
        """The plan of a whole phase: its tiles of rows, columns and output channels."""
        return self._direct(grid(self.operator), self.copy)

    @cached_property
    def source(self) -> PhasePlan:
        """The plan of the padded data."""
        return self._direct(_padded(self.operator), self.copy)

    @cached_property
    def groups(self) -> list[Group]:
        """Phases by their taps."""
        found: list[Group] = []
        before = 0
        extents = self.band_rows, self.columns.steps, self.grid.channel_tile
        for rows in self.rows.groups:
            for columns in self.columns.groups:
                taps = rows.taps, columns.taps
                # A phase without taps is all zeros, which has no plan of its own.
                of = _phase(self.operator, extents, (max(1, taps[0]), max(1, taps[1])))
                group = Group(rows, columns, self._direct(of, self.copy), before)
                before += group.phases * group.taps
                found.append(group)
        return found

    def _direct(self, operator: Conv2d, copy: str) -> PhasePlan:
        same: dict[str, Any] = {name: getattr(self, name) for name in _SAME}
        return PhasePlan(
            operator=operator,
            copy=copy,
            tails="overlap",
            split_channels=1,
            split_pixels=1,
            **same,
        )

    # -- tasks: parts of the channels, and bands of rows

    @property
    def channel_tasks(self) -> int:
        return min(self.split_channels, self.grid.channel_tiles)

    @property
    def bands(self) -> int:
        return min(self.split_rows, self.grid.row_tiles)

    @property
    def tasks(self) -> int:
        return self.operator.n * self.channel_tasks * self.bands

    @cached_property
    def band_rows(self) -> int:
        """The most rows of a phase that a task computes."""
        tile = self.grid.tile.rows
        return min(self.rows.steps, emit.tile_count(self.grid.row_tiles, self.bands) * tile)

    @property
    def panel(self) -> int:
        """Weights of a tile of output channels."""
        return self.operator.reduction_length * self.grid.channel_tile


# A search makes thousands of plans of the same few convolutions.
@lru_cache(maxsize=64)
def grid(op: Conv2dTranspose) -> Conv2d:
    """A convolution with the output of a phase."""
    rows, columns = axes(op)
    size: dict[str, Any] = {
        "n": op.n,
        "ci": op.ci,
        "h": rows.steps,
        "w": columns.steps,
        "co": op.co,
    }
    return conv2d(**size, kernel=1, dtype=op.accumulate_dtype)


@lru_cache(maxsize=64)
def _padded(op: Conv2dTranspose) -> Conv2d:
    rows, columns = axes(op)
    size: dict[str, Any] = {"n": op.n, "ci": op.ci, "h": op.h, "w": op.w, "co": 1}
    return conv2d(**size, kernel=1, padding=(rows.margin, columns.margin), dtype=op.dtype)


@lru_cache(maxsize=4096)
def _phase(op: Conv2dTranspose, extents: tuple[int, int, int], taps: tuple[int, int]) -> Conv2d:
    """The convolution of each phase, given the rows, columns and channels of its output."""
    high, wide, channels = extents
    return conv2d(
        n=math.prod(op.stride),
        ci=op.ci,
        h=high + taps[0] - 1,
        w=wide + taps[1] - 1,
        co=channels,
        kernel=taps,
        dtype=op.accumulate_dtype,
    )
