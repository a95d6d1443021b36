"""The choices of direct convolution."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

from tunesmith.operators import Conv2d, sides
from tunesmith.space import Categorical, Constraint, Ordinal, Parameter, Space

# Multiply-adds of the unrolled body of the main loop. With 250 in straight code LLVM keeps all sums
# in registers, with 400 it spills all. Longer bodies also take longer to build.
MAX_STATEMENTS = 288
# The most rows of a register tile, and the most vectors side by side.
MAX_ROWS = 7
MAX_VECTORS = 4
# The most pixels of a tile that goes on in the next row.
MAX_WRAPPED = 8
_SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_STEPS = (1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 32)
PREFETCH = (0, 8, 32)
# A tile of fewer sums waits for the latency of its additions.
_FEW_SUMS = 10


@lru_cache(maxsize=64)
def direct_space(op: Conv2d, registers: int) -> Space:
    """All configs, for a machine with that number of vector registers."""
    ci, co = op.ci // op.groups, op.co // op.groups
    rows, columns, channels = tile_values(op, registers)
    copies = ("none",) * _readable_in_place(op) + ("image",) * _indexable(op) + ("rows",)
    parameters: list[Parameter] = [
        Categorical("vectorize", ("channels", "columns")),
        Ordinal("tile_rows", rows),
        Ordinal("tile_columns", columns),
        Ordinal("tile_channels", channels),
        Categorical("tails", ("overlap", "peel") + ("wrap",) * (not _contiguous(op))),
        Ordinal("block", tuple(d for d in range(1, ci + 1) if ci % d == 0)),
        Ordinal("steps", _STEPS),
        Ordinal("prefetch", PREFETCH),
        Categorical("order", ("weights", "pixels")),
        Ordinal("split_channels", tuple(n for n in _SPLITS if n <= co)),
        Ordinal("split_pixels", tuple(n for n in _SPLITS if n <= math.prod(op.output_image))),
        Categorical("copy", copies),
        Categorical("data", ("plain", "blocked")),
    ]
    return Space(parameters, _constraints(op, registers))


def tile_values(
    op: Conv2d, registers: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Rows, columns and channels that a register tile may have."""
    high, wide = op.output_image
    most = registers - 3
    return (
        tuple(range(1, min(high, MAX_ROWS) + 1)),
        tuple(range(1, min(wide, most) + 1)),
        tuple(range(1, min(op.co // op.groups, most) + 1)),
    )


def _contiguous(op: Conv2d) -> bool:
    """Whether pixels are one axis however data are copied: there is nothing to wrap."""
    return op.kernel == (1, 1) and op.stride == (1, 1) and op.padding == (0, 0)


def _readable_in_place(op: Conv2d) -> bool:
    return op.padding == (0, 0) and op.dtype == op.accumulate_dtype


def _indexable(op: Conv2d) -> bool:
    """Whether 32 bits number the elements of all padded images."""
    image = math.prod(
        size + sum(padding) + stride
        for size, padding, stride in zip((op.h, op.w), sides(op.padding), op.stride, strict=True)
    )
    return op.n * op.ci * image < 2**31


def _constraints(op: Conv2d, registers: int) -> list[Constraint]:
    """Sums and operands of a step fit the registers; vectors are contiguous in memory."""
    sums = "tile_rows * tile_columns * tile_channels"
    held = {"channels": "tile_channels", "columns": "tile_rows * tile_columns"}
    constraints = [
        Constraint(
            f"vectorize != '{axis}' or ({sums} + {vectors} < {registers} "
            f"and tile_{axis} <= {MAX_VECTORS} and {sums} >= {_fewest(op, registers, axis)})"
        )
        for axis, vectors in held.items()
    ]
    # Tails of their own size are further copies of the body.
    constraints.append(Constraint(f"tails == 'peel' or {sums} * steps <= {MAX_STATEMENTS}"))
    constraints.append(Constraint(f"tails != 'peel' or {sums} * steps <= {MAX_STATEMENTS // 2}"))
    if not _contiguous(op):
        # Vectors of columns end with their row, and an address for each pixel takes a register.
        constraints.append(
            Constraint(
                "tails != 'wrap' or (vectorize == 'channels' and tile_rows == 1 "
                f"and tile_columns <= {MAX_WRAPPED})"
            )
        )
    # Where weights are broadcast, a tile reads few of them.
    constraints.append(Constraint("prefetch == 0 or vectorize == 'channels'"))
    constraints.append(
        Constraint("data == 'plain' or (vectorize == 'channels' and copy != 'none' and block > 1)")
        if op.ci > op.groups
        else Constraint("data == 'plain'")
    )
    if _readable_in_place(op) and (op.stride[1] > 1 or op.layout == "NHWC"):
        constraints.append(Constraint("vectorize != 'columns' or copy != 'none'"))
    return constraints


@lru_cache(maxsize=256)
def _fewest(op: Conv2d, registers: int, axis: str) -> int:
    """How many sums a tile has at least: enough to hide latencies, if there are tiles like that."""
    found = 0
    for rows, columns, channels in product(*tile_values(op, registers)):
        sums = rows * columns * channels
        held = channels if axis == "channels" else rows * columns
        vectors = channels if axis == "channels" else columns
        if sums + held < registers and vectors <= MAX_VECTORS:
            found = max(found, sums)
    return min(found, _FEW_SUMS)
