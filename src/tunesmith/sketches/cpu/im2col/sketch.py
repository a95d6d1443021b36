"""The CPU sketch for convolution as a product of matrices: weights by patches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.errors import UsageError
from tunesmith.operators import Conv2d, Operator
from tunesmith.sketches.cpu.gemm import Blocking, Packing, Plan, Precision, Side
from tunesmith.sketches.cpu.im2col.convolution import Convolution, convolution_of
from tunesmith.sketches.cpu.im2col.estimate import estimated_seconds
from tunesmith.sketches.cpu.im2col.planes import Planes
from tunesmith.sketches.cpu.im2col.program import convolution_program
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

# Vectors of sums times unrolling: larger bodies take long to compile and are no faster.
_LARGEST_BODY = 128
_CHAINS = (1, 2, 4)
_UNROLL = (1, 2, 4, 8)
_PREFETCH = (0, 4, 8, 16)
# Few values where many parameters share conditions, so that a space is counted in no time.
_ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 16, 20, 24, 28)
_PARTS = (1, 2, 4, 8, 16, 32)
_BLOCKS = (1, 2, 4, 8)
_MOST_VECTORS = 8
# A shorter stretch of the reduction costs more in storing sums than it saves in the caches.
_SHORTEST_DEPTH = 64
_DEFAULT_DEPTH = 512
PIXELS, CHANNELS = "pixels", "channels"


class CpuIm2col(Sketch):
    """Convolves as a product of weights and patches, on the loops of cpu_gemm.

    Patches are never copied one by one: images with padding or strides are laid out anew, once a
    call, so that each tap of neighbouring windows is a vector (``im2col/planes.py``). From there
    they are packed into panels, block by block or all before, or read in place; images of 1x1
    windows with stride 1 are read as they are. Vectors run along the windows (NCHW) or along the
    channels. Constant weights are packed by ``prepare``.
    """

    name: ClassVar[str] = "cpu_im2col"
    version: ClassVar[int] = 3

    def supports(self, operator: Operator, target: Target) -> bool:
        if target.kind != "cpu" or not isinstance(operator, Conv2d) or operator.groups > 1:
            return False
        planes = Planes.of(operator)
        return planes.images * planes.image < 2**31  # what 32 bits can number

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(_known(operator), target)

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(_known(operator), target)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = _known(operator)
        with instantiating(self.space(operator, target), config):
            convolution = convolution_of(operator, config["along"] == PIXELS)
            return convolution_program(convolution, plan_of(convolution, target, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator = _known(operator)
        convolution = convolution_of(operator, config["along"] == PIXELS)
        return estimated_seconds(convolution, plan_of(convolution, target, config), target)


def _known(operator: Operator) -> Conv2d:
    if not isinstance(operator, Conv2d):
        raise UsageError(f"sketch {CpuIm2col.name} is for conv2d: take another for {operator.name}")
    return operator


def plan_of(convolution: Convolution, target: Target, config: Config) -> Plan:
    """What a config says."""
    numbers: dict[str, Any] = {n: value for n, value in config.items() if isinstance(value, int)}
    operator = convolution.operator
    precision = Precision.for_operator(operator, target, numbers["lanes"])
    weights, patches = (Packing(str(config[f"pack_{name}"])) for name in ("weights", "patches"))
    packing = (weights, patches) if convolution.along_pixels else (patches, weights)
    return Plan(
        operator.n,
        convolution.rows,
        convolution.columns,
        operator.reduction_length,
        precision,
        target.lanes(precision.word),
        Blocking(
            **numbers,
            outer=Side(str(config["outer"])),
            inner=Side(str(config["inner"])),
            pack_left=packing[0],
            pack_right=packing[1],
        ),
    )


# -- the space ------------------------------------------------------------------------------------


def _ways(operator: Conv2d) -> tuple[str, ...]:
    """What vectors may run along: what the result is contiguous along, or the channels."""
    return (PIXELS, CHANNELS) if operator.layout == "NCHW" else (CHANNELS,)


def _sizes(operator: Conv2d, way: str) -> tuple[int, int]:
    """Rows and columns of the product."""
    convolution = convolution_of(operator, way == PIXELS)
    return convolution.rows, convolution.columns


@lru_cache(maxsize=256)
def _space(operator: Conv2d, target: Target) -> Space:
    registers, ways = Machine.of(target).vector_registers, _ways(operator)
    most_rows, most_columns = (max(_sizes(operator, way)[side] for way in ways) for side in (0, 1))
    lanes = _lanes(operator, target)
    sides = tuple(map(str, Side))
    parameters: list[Parameter] = [
        Categorical("along", ways),
        Ordinal("rows", [rows for rows in _ROWS if rows <= min(registers - 2, most_rows)]),
        Ordinal("vectors", range(1, min(_MOST_VECTORS, most_columns // lanes[0]) + 1)),
        Ordinal("lanes", lanes),
        Ordinal("depth", _depths(operator, target)),
        Ordinal("chains", _CHAINS),
        Ordinal("unroll", _UNROLL),
        Ordinal("prefetch", _PREFETCH),
        Ordinal("row_parts", _parts(most_rows, target)),
        Ordinal("column_parts", _parts(most_columns, target)),
        Categorical("outer", sides),
        Categorical("inner", sides),
        Ordinal("blocks", _BLOCKS),
        Categorical("pack_weights", _weight_packings(operator, target)),
        Categorical("pack_patches", _patch_packings(operator, target)),
    ]
    conditions = [
        f"rows * vectors * chains + vectors + 1 <= {registers}",
        f"rows * vectors * unroll <= {_LARGEST_BODY}",
        "chains <= unroll",
    ]
    for way in ways:
        conditions += [f"along != '{way}' or {one}" for one in _conditions(operator, way)]
    return Space(parameters, map(Constraint, conditions))


def _conditions(operator: Conv2d, way: str) -> list[str]:
    """What must hold where vectors run that way."""
    rows, columns = _sizes(operator, way)
    conditions = [
        f"rows <= {rows}",
        f"vectors * lanes <= {columns}",
        # Each part has a tile, and each block of a part.
        f"(row_parts - 1) * rows < {rows}",
        f"(column_parts - 1) * vectors * lanes < {columns}",
        f"inner == 'columns' or (row_parts * blocks - 1) * rows < {rows}",
        f"inner == 'rows' or (column_parts * blocks - 1) * vectors * lanes < {columns}",
    ]
    # Only panels are read ahead of the loop, and only those of vectors.
    right = "pack_patches" if way == PIXELS else "pack_weights"
    conditions.append(f"prefetch == 0 or {right} != 'none'")
    if way == CHANNELS and operator.layout == "NCHW":
        conditions.append("pack_weights != 'none'")  # their channels lie apart
    return conditions


def _lanes(operator: Conv2d, target: Target) -> tuple[int, ...]:
    """Lanes of a vector of sums: as many as there are, and half where both multiply alike."""
    columns = max(_sizes(operator, way)[1] for way in _ways(operator))
    whole = target.lanes(operator.accumulate_dtype)
    while whole > columns:
        whole //= 2
    kinds = [
        Precision.for_operator(operator, target, lanes).products for lanes in (whole // 2, whole)
    ]
    return (whole // 2, whole) if whole > 4 and kinds[0] is kinds[1] else (whole,)


def _precision(operator: Conv2d, target: Target) -> Precision:
    return Precision.for_operator(operator, target, _lanes(operator, target)[-1])


def _depths(operator: Conv2d, target: Target) -> tuple[int, ...]:
    """Stretches of the reduction in words: all of it, and its longer divisors.

    Where its last word is not full, or sums begin behind the last one, there is but one stretch.
    """
    precision, depth = _precision(operator, target), operator.reduction_length
    words = precision.words(depth)
    if depth % precision.group or precision.compensates:
        return (words,)
    # Channels that are contiguous are packed in whole vectors along the reduction.
    whole = target.lanes(precision.word) if operator.layout == "NHWC" else 1
    shorter = range(_SHORTEST_DEPTH, words // 2 + 1)
    return (*(d for d in shorter if words % d == 0 and d % whole == 0), words)


def _parts(extent: int, target: Target) -> tuple[int, ...]:
    cores = target.core_count
    parts = {*_PARTS, cores, 2 * cores}
    return tuple(sorted(part for part in parts if part <= extent))


def _weight_packings(operator: Conv2d, target: Target) -> tuple[str, ...]:
    """Constant weights are packed before the call, or not at all."""
    # Words of several elements are put together by packing.
    readable = _precision(operator, target).group == 1
    block = [] if operator.constant_weights else [Packing.BLOCK]
    chosen = [Packing.NONE] * readable + [Packing.WHOLE, *block]
    return tuple(map(str, chosen))


def _patch_packings(operator: Conv2d, target: Target) -> tuple[str, ...]:
    readable = _precision(operator, target).group == 1
    return tuple(map(str, [Packing.NONE] * readable + [Packing.WHOLE, Packing.BLOCK]))


# -- the default ----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _default(operator: Conv2d, target: Target) -> Config:
    """Tiles of a quarter of the registers each way, patches in place where that can be."""
    registers, lanes = Machine.of(target).vector_registers, _lanes(operator, target)[-1]
    way = next((way for way in _ways(operator) if _sizes(operator, way)[1] >= lanes), CHANNELS)
    rows_there, columns_there = _sizes(operator, way)
    rows = max(rows for rows in _ROWS if rows <= min(rows_there, registers // 4))
    vectors = min(max(2, registers // 4 // rows), _MOST_VECTORS, columns_there // lanes)
    tiles = {
        "row_parts": emit.tile_count(rows_there, rows),
        "column_parts": emit.tile_count(columns_there, vectors * lanes),
    }
    parts = dict.fromkeys(tiles, 1)
    if operator.n < target.core_count:
        longer = max(tiles, key=lambda name: tiles[name])
        shares = _parts(tiles[longer], target)
        parts[longer] = max(share for share in shares if share <= target.core_count)
    depths = _depths(operator, target)
    patches = _patch_packings(operator, target)
    chosen: dict[str, Any] = {
        "along": way,
        "rows": rows,
        "vectors": vectors,
        "lanes": lanes,
        "depth": max([d for d in depths if d <= _DEFAULT_DEPTH], default=depths[-1]),
        **dict.fromkeys(("chains", "unroll", "blocks"), 1),
        "prefetch": 0,
        **parts,
        **dict.fromkeys(("outer", "inner"), "rows"),
        "pack_weights": "whole",
        "pack_patches": "none" if "none" in patches else "block",
    }
    return Config(chosen)
