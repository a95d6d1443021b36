"""The CPU sketch for pooling: vectors along the columns or the channels, nothing padded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Operator, Pool2d
from tunesmith.sketches.cpu.depthwise.image_tiles import Blocking as Tile
from tunesmith.sketches.cpu.depthwise.image_tiles import lanes_for, layout_of, tile_values
from tunesmith.sketches.cpu.pool.estimate import pool_seconds, whole_seconds
from tunesmith.sketches.cpu.pool.kernel import Blocking, combining_of, pool_program
from tunesmith.sketches.cpu.reduce.rows import reduce_rows
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_of
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

# Vectors that a program may combine in its code, and results of a tile.
MAX_COMBINED = 600
_MOST_RESULTS = 16
_ROWS = (1, 2, 3, 4, 6, 8)
_VECTORS = (1, 2, 3, 4, 5, 6, 7, 8)
_BANDS = (1, 2, 4)
_UNROLL = (1, 2, 4, 8)
_DTYPES = ("float32", "float64")
# Fewer elements than this are not worth waking another core for.
_ELEMENTS_WORTH_SHARING = 65536


class CpuPool(Sketch):
    """Takes the largest value or the mean of windows, in tiles straight over the images.

    For NCHW, vectors run along the columns, and shuffles pick what a stride leaves; for NHWC they
    run along the channels. ``first`` says whether the rows or the columns of a window become one
    first. Loads at the edges are done under masks, or in code of their own that leaves out what is
    padding. Windows as large as the image are read as rows, several planes at once.

    A maximum of values among which there is NaN may be any of them.
    """

    name: ClassVar[str] = "cpu_pool"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        if target.kind != "cpu" or not isinstance(operator, Pool2d):
            return False
        if operator.dtype not in _DTYPES:
            return False
        widest = target.lanes(operator.dtype)
        return _is_whole(operator) or bool(_fitting(operator, _lanes(operator, widest)[-1], 1, 1))

    def space(self, operator: Operator, target: Target) -> Space:
        operator = known(self, operator, Pool2d)
        return _space(operator, target.lanes(operator.dtype), target.core_count)

    def default(self, operator: Operator, target: Target) -> Config:
        """Whole vectors, a row or two of them, rows of a window first; shared where it is worth."""
        operator = known(self, operator, Pool2d)
        lanes = max(_lanes(operator, target.lanes(operator.dtype)))
        worth = operator.arguments[0].elements >= _ELEMENTS_WORTH_SHARING
        shared = worth and target.core_count > 1
        if _is_whole(operator):
            unroll = max(n for n in _unroll(operator, lanes) if n <= 4)
            return Config({"lanes": lanes, "unroll": unroll, "shared": shared})
        # With a stride of 1 the rows of results next to each other share what they read.
        shares = operator.stride[0] == 1 and operator.output_image[0] >= 4
        rows = 4 if shares and _fitting(operator, lanes, 4, 1) else 1
        edges = _fitting(operator, lanes, rows, 1)[0]
        return Config(
            {
                "lanes": lanes,
                "rows": rows,
                "vectors": 1,
                "bands": 1,
                "edges": edges,
                "shifts": "loads",
                "first": "columns" if shares else "rows",
                "shared": shared,
            }
        )

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, Pool2d)
        with instantiating(self.space(operator, target), config):
            if _is_whole(operator):
                return _whole_program(operator, **_whole(config))
            return pool_program(operator, _blocking(config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator = known(self, operator, Pool2d)
        if _is_whole(operator):
            return whole_seconds(operator, target, **_whole(config))
        return pool_seconds(operator, target, _blocking(config))


def _is_whole(operator: Pool2d) -> bool:
    """Whether each plane is a single window, which lies in one piece."""
    alone = operator.kernel == (operator.h, operator.w) and operator.padding == (0, 0)
    return alone and operator.layout == "NCHW"


def _whole_program(operator: Pool2d, lanes: int, unroll: int, *, shared: bool) -> Any:
    """The module: each plane is a row."""
    sweep, planes = Sweep(math.prod(operator.kernel), lanes, unroll), operator.n * operator.c

    def main(buffers: Sequence[Any]) -> None:
        reduce_rows(buffers, combining_of(operator), planes, sweep, shared=shared)

    return program_of(operator, main)


def _whole(config: Config) -> dict[str, Any]:
    values: dict[str, Any] = dict(config)
    return {name: values[name] for name in ("lanes", "unroll", "shared")}


def _blocking(config: Config) -> Blocking:
    rows_first, shared = config["first"] == "rows", bool(config["shared"])
    return Blocking(Tile.of(config), rows_first=rows_first, shared=shared)


# -- the space ------------------------------------------------------------------------------------


def _lanes(operator: Pool2d, widest: int) -> tuple[int, ...]:
    """Vectors of which at least half is used, from a quarter of a register on."""
    if _is_whole(operator):
        most = min(widest, emit.power_of_two(math.prod(operator.kernel)))
        return (most // 2, most) if most > 1 else (1,)
    extent = operator.output_image[1] if operator.layout == "NCHW" else operator.c
    return lanes_for(extent, widest)


def _unroll(operator: Pool2d, lanes: int) -> tuple[int, ...]:
    vectors = math.prod(operator.kernel) // lanes
    return tuple(count for count in _UNROLL if count <= max(1, vectors))


def _fitting(operator: Pool2d, lanes: int, rows: int, vectors: int) -> tuple[str, ...]:
    """The ways to treat edges whose code is not too long."""
    taps = math.prod(operator.kernel)

    def combined(masked: bool) -> int:
        ways = (Tile(lanes, rows, vectors, masked=masked, shuffled=way) for way in (False, True))
        layouts = [layout_of(operator, way) for way in ways]
        return taps * max(layout.multiply_adds for layout in layouts)

    every = (("peeled", combined(False)), ("masked", combined(True)))
    return tuple(name for name, count in every if count <= MAX_COMBINED)


@lru_cache(maxsize=64)
def _space(operator: Pool2d, widest: int, cores: int) -> Space:
    lanes = _lanes(operator, widest)
    sharing = (False, True) if cores > 1 else (False,)
    if _is_whole(operator):
        return Space(
            [
                Ordinal("lanes", lanes),
                Ordinal("unroll", _unroll(operator, lanes[0])),
                Categorical("shared", sharing),
            ],
            [Constraint(f"unroll * lanes <= {max(math.prod(operator.kernel), lanes[-1])}")],
        )
    along_columns = operator.layout == "NCHW"
    shape = tile_values(operator, lanes, _ROWS, _VECTORS, _BANDS)
    row_counts, vector_counts = shape["rows"], shape["vectors"]
    parameters: list[Parameter] = [
        *(Ordinal(name, values) for name, values in shape.items()),
        Categorical("edges", ("peeled", "masked")),
        Categorical("shifts", ("loads", "shuffles") if along_columns else ("loads",)),
        Categorical("first", ("rows", "columns")),
        Categorical("shared", sharing),
    ]
    constraints = [
        Constraint(f"rows * vectors <= {_MOST_RESULTS}"),
        Constraint("shared or bands == 1"),
    ]
    if along_columns:
        constraints.append(Constraint(f"(vectors - 1) * lanes < {operator.output_image[1]}"))
    for each in lanes:
        for many in vector_counts:
            tile = f"lanes != {each} or vectors != {many}"
            for edges in ("peeled", "masked"):
                short = [n for n in row_counts if edges in _fitting(operator, each, n, many)]
                if tuple(short) != row_counts:
                    constraints.append(
                        Constraint(f"{tile} or edges != '{edges}' or rows in {short}")
                    )
    return Space(parameters, constraints)
