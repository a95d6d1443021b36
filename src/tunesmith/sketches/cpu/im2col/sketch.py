"""The CPU sketch for convolution as a product of matrices: weights by patches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Conv2d, Operator
from tunesmith.sketches.cpu.gemm import Plan, Precision
from tunesmith.sketches.cpu.gemm import space as loops
from tunesmith.sketches.cpu.im2col.convolution import Convolution, convolution_of
from tunesmith.sketches.cpu.im2col.estimate import estimated_seconds
from tunesmith.sketches.cpu.im2col.planes import Planes
from tunesmith.sketches.cpu.im2col.program import convolution_program
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.space import Categorical, Config, Constraint, Space
from tunesmith.target import Target

# Few values where many parameters share conditions, so that a space is counted in no time.
_CHOICES = loops.LoopChoices(
    rows=(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 16, 20, 24, 28),
    chains=(1, 2, 4),
    prefetch=(0, 4, 8, 16),
    parts=(1, 2, 4, 8, 16, 32),
    per_core=(1, 2),
    blocks=(1, 2, 4, 8),
    largest_body=128,
)
_DEFAULT_DEPTH = 512
PIXELS, CHANNELS = "pixels", "channels"


class CpuIm2col(Sketch):
    """Convolves as a product of weights and patches, on the loops of cpu_gemm.

    No patch is copied: images with padding or strides are copied to another layout, once a call, in
    which each tap of neighbouring windows is a vector (``im2col/planes.py``). From there they are
    packed into panels, block by block or all before the product, or read in place; images of 1x1
    windows with stride 1 are read as they are. Vectors run along the windows (NCHW) or along the
    channels. Constant weights are packed by ``prepare``.
    """

    name: ClassVar[str] = "cpu_im2col"
    version: ClassVar[int] = 4

    def supports(self, operator: Operator, target: Target) -> bool:
        if target.kind != "cpu" or not isinstance(operator, Conv2d) or operator.groups > 1:
            return False
        planes = Planes.of(operator)
        return planes.images * planes.image < 2**31  # what 32 bits can number

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(known(self, operator, Conv2d), target)

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(known(self, operator, Conv2d), target)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, Conv2d)
        with instantiating(self.space(operator, target), config):
            convolution = convolution_of(operator, config["along"] == PIXELS)
            return convolution_program(convolution, plan_of(convolution, target, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator = known(self, operator, Conv2d)
        convolution = convolution_of(operator, config["along"] == PIXELS)
        return estimated_seconds(convolution, plan_of(convolution, target, config), target)


def plan_of(convolution: Convolution, target: Target, config: Config) -> Plan:
    """What a config says."""
    operator = convolution.operator
    size = (operator.n, convolution.rows, convolution.columns)
    names = ("pack_weights", "pack_patches")
    packing = names if convolution.along_pixels else names[::-1]
    return loops.plan_of(operator, target, config, size, packing)


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
    ways, lanes = _ways(operator), _lanes(operator, target)
    most_rows, most_columns = (max(_sizes(operator, way)[side] for way in ways) for side in (0, 1))
    size, depths = (most_rows, most_columns), _depths(operator, target)
    readable = _readable(operator, target)
    parameters = [
        Categorical("along", ways),
        *_CHOICES.parameters(size, lanes, depths, target),
        Categorical(
            "pack_weights",
            loops.packings(readable=readable, constant=operator.constant_weights),
        ),
        Categorical("pack_patches", loops.packings(readable=readable)),
    ]
    conditions = _CHOICES.register_conditions(target)
    for way in ways:
        conditions += [f"along != '{way}' or {one}" for one in _conditions(operator, way)]
    return Space(parameters, map(Constraint, conditions))


def _conditions(operator: Conv2d, way: str) -> list[str]:
    """What must hold where vectors run that way."""
    rows, columns = _sizes(operator, way)
    conditions = [f"rows <= {rows}", *loops.tile_conditions(rows, columns)]
    # Only panels are read ahead of the loop, and only those of vectors.
    right = "pack_patches" if way == PIXELS else "pack_weights"
    conditions.append(f"prefetch == 0 or {right} != 'none'")
    if way == CHANNELS and operator.layout == "NCHW":
        conditions.append("pack_weights != 'none'")  # their channels lie apart
    return conditions


def _lanes(operator: Conv2d, target: Target) -> tuple[int, ...]:
    """Lanes of a vector of sums: as many as there are, and half where both multiply alike."""
    columns = max(_sizes(operator, way)[1] for way in _ways(operator))
    widest = loops.widest_lanes(operator, columns, target)
    kinds = [
        Precision.for_operator(operator, target, lanes).products for lanes in (widest // 2, widest)
    ]
    return (widest // 2, widest) if widest > 4 and kinds[0] is kinds[1] else (widest,)


def _precision(operator: Conv2d, target: Target) -> Precision:
    return Precision.for_operator(operator, target, _lanes(operator, target)[-1])


def _depths(operator: Conv2d, target: Target) -> tuple[int, ...]:
    precision = _precision(operator, target)
    # Contiguous channels are packed in whole vectors along the reduction.
    multiple = target.lanes(precision.word) if operator.layout == "NHWC" else 1
    return loops.depths_of(precision, operator.reduction_length, multiple)


def _readable(operator: Conv2d, target: Target) -> bool:
    """Whether operands can be read in place: words of several elements are made by packing."""
    return _precision(operator, target).group == 1


# -- the default ----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _default(operator: Conv2d, target: Target) -> Config:
    """Tiles of a quarter of the registers each way, patches in place where that can be."""
    registers, lanes = Machine.of(target).vector_registers, _lanes(operator, target)[-1]
    way = next((way for way in _ways(operator) if _sizes(operator, way)[1] >= lanes), CHANNELS)
    rows_there, columns_there = _sizes(operator, way)
    rows = max(rows for rows in _CHOICES.rows if rows <= min(rows_there, registers // 4))
    vectors = min(max(2, registers // 4 // rows), loops.MOST_VECTORS, columns_there // lanes)
    size, tile = (rows_there, columns_there), (rows, vectors * lanes)
    chosen: dict[str, Any] = {
        "along": way,
        "rows": rows,
        "vectors": vectors,
        "lanes": lanes,
        "depth": loops.default_depth(_depths(operator, target), _DEFAULT_DEPTH),
        **dict.fromkeys(("chains", "unroll", "blocks"), 1),
        "prefetch": 0,
        **_CHOICES.default_parts(operator.n, size, tile, target),
        **dict.fromkeys(("outer", "inner"), "rows"),
        "pack_weights": "whole",
        "pack_patches": "none" if _readable(operator, target) else "block",
    }
    return Config(chosen)
