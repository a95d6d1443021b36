"""The choices of transposed convolution."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from tunesmith.operators import Conv2dTranspose
from tunesmith.sketches.cpu.direct.space import (
    MAX_STATEMENTS,
    MAX_VECTORS,
    PREFETCH,
    tile_values,
)
from tunesmith.sketches.cpu.transpose.phases import axes
from tunesmith.sketches.cpu.transpose.plan import grid
from tunesmith.space import Categorical, Constraint, Ordinal, Parameter, Space

_SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Additions take four or five cycles, and a core begins two in each.
_FEW_SUMS = 8
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


@lru_cache(maxsize=64)
def transpose_space(op: Conv2dTranspose, registers: int) -> Space:
    """All configs, for a machine with that number of vector registers."""
    rows, columns, channels = tile_values(grid(op), registers)
    parameters: list[Parameter] = [
        Categorical("vectorize", ("channels", "columns")),
        Ordinal("tile_rows", rows),
        Ordinal("tile_columns", columns),
        Ordinal("tile_channels", channels),
        Ordinal("block", tuple(d for d in range(1, op.ci + 1) if op.ci % d == 0)),
        Ordinal("steps", _STEPS),
        Categorical("order", ("weights", "bands")),
        Ordinal("split_channels", tuple(n for n in _SPLITS if n <= op.co)),
        Ordinal("split_rows", tuple(n for n in _SPLITS if n <= axes(op)[0].steps)),
        Categorical("copy", ("none",) * _readable_in_place(op) + ("image",)),
        Categorical("data", ("plain", "blocked")),
        Ordinal("prefetch", PREFETCH),
    ]
    constraints = [
        *_tile_constraints(op, registers),
        Constraint(f"tile_rows * tile_columns * tile_channels * steps <= {most_statements(op)}"),
        Constraint("prefetch == 0 or vectorize == 'channels'"),
        Constraint("data == 'plain' or (vectorize == 'channels' and copy == 'image' and block > 1)")
        if op.ci > 1
        else Constraint("data == 'plain'"),
    ]
    return Space(parameters, constraints)


def most_statements(op: Conv2dTranspose) -> int:
    """Multiply-adds of the unrolled body of a main loop, of which each group of phases has one."""
    rows, columns = axes(op)
    groups = len(rows.groups) * len(columns.groups)
    return MAX_STATEMENTS if groups == 1 else MAX_STATEMENTS // 2


def _tile_constraints(op: Conv2dTranspose, registers: int) -> list[Constraint]:
    """Sums fit the registers, with the vectors of a step or its scalars, whichever are fewer."""
    sums, pixels = "tile_rows * tile_columns * tile_channels", "tile_rows * tile_columns"
    fewest = fewest_sums(op, registers)
    constraints = [
        Constraint(f"{sums} + tile_channels < {registers} or {sums} + {pixels} < {registers}"),
        Constraint(f"{sums} >= {fewest}"),
    ]
    constraints += [
        Constraint(f"vectorize != '{axis}' or tile_{axis} <= {MAX_VECTORS}")
        for axis in ("channels", "columns")
    ]
    return constraints


@lru_cache(maxsize=64)
def fewest_sums(op: Conv2dTranspose, registers: int) -> int:
    """How many sums a tile has at least: enough to hide latencies, if there are tiles like that."""
    most = 1
    for rows, columns, channels in product(*tile_values(grid(op), registers)):
        sums = rows * columns * channels
        vectors = min(columns, channels)
        if sums + min(rows * columns, channels) < registers and vectors <= MAX_VECTORS:
            most = max(most, sums)
    return min(most, _FEW_SUMS)


def _readable_in_place(op: Conv2dTranspose) -> bool:
    return op.dtype == op.accumulate_dtype and all(axis.margin == 0 for axis in axes(op))
