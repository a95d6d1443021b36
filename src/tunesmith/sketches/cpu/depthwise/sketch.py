"""The CPU sketch for depthwise convolution: whole planes a thread, register tiles of outputs."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import DepthwiseConv2d, Operator
from tunesmith.sketches.cpu.depthwise.estimate import estimated_seconds
from tunesmith.sketches.cpu.depthwise.image_tiles import (
    Blocking,
    lanes_for,
    layout_of,
    tile_values,
)
from tunesmith.sketches.cpu.depthwise.kernel import depthwise_program
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

# Vector multiply-adds that a program may have in its code; each takes about 0.3 ms to compile.
MAX_MULTIPLY_ADDS = 600
# Sums of a register tile: what the registers of any machine hold beside weights and inputs.
MAX_SUMS = 24
_ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
_VECTORS = (1, 2, 3, 4, 5, 6, 7, 8)
_BANDS = (1, 2, 4, 8)
_DTYPES = ("float32", "float64")


class CpuDepthwise(Sketch):
    """Convolves each channel by itself, in register tiles straight over the images.

    For NCHW, vectors run along the columns: a thread handles whole channels, or bands of their
    rows, and keeps a channel's weights in registers. For NHWC they run along the channels. Each row
    of inputs is loaded once for all rows of the tile that need it. Nothing is copied or padded:
    loads at the edges of the image are done under masks, and taps that are outside are left out.
    Rows narrower than a vector take narrower vectors, with masks. With a stride, loads are of
    consecutive elements, of which shuffles take every second one, say.

    Weights are used as they are, so constant ones need no preparation.
    """

    name: ClassVar[str] = "cpu_depthwise"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        if target.kind != "cpu" or not isinstance(operator, DepthwiseConv2d):
            return False
        taps = math.prod(operator.kernel)
        repeated = operator.layout == "NHWC" and operator.multiplier > 1
        return operator.dtype in _DTYPES and taps <= MAX_MULTIPLY_ADDS and not repeated

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(known(self, operator, DepthwiseConv2d), target.lanes(operator.dtype))

    def default(self, operator: Operator, target: Target) -> Config:
        """Tiles of about four rows, as many bands as cores need, edges apart if that is short."""
        operator = known(self, operator, DepthwiseConv2d)
        lanes = max(_lanes(operator, target.lanes(operator.dtype)))
        longest = MAX_MULTIPLY_ADDS // math.prod(operator.kernel)
        rows = max(n for n in (1, 2, 4) if n <= min(operator.output_image[0], longest))
        width = 1 if operator.layout == "NCHW" else lanes
        busy = operator.n * emit.tile_count(operator.c * operator.multiplier, width)
        bands = [count for count in _BANDS if count <= operator.output_image[0]]
        values: dict[str, Any] = {
            "lanes": lanes,
            "rows": rows,
            "vectors": 1,
            "bands": next((b for b in bands if busy * b >= target.core_count), 1),
            "order": ("rows", "columns"),
            "edges": "peeled" if _short_when_peeled(operator, lanes, 1, (rows,)) else "masked",
        }
        if operator.layout == "NCHW":
            values["shifts"] = "loads"
        return Config(values)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, DepthwiseConv2d)
        with instantiating(self.space(operator, target), config):
            return depthwise_program(operator, Blocking.of(config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return estimated_seconds(
            known(self, operator, DepthwiseConv2d), target, Blocking.of(config)
        )


# -- the space ------------------------------------------------------------------------------------


def _lanes(operator: DepthwiseConv2d, widest: int) -> tuple[int, ...]:
    """Lanes of vectors, which run along the columns or along the channels."""
    along_columns = operator.layout == "NCHW"
    extent = operator.output_image[1] if along_columns else operator.c * operator.multiplier
    return lanes_for(extent, widest)


@lru_cache(maxsize=64)
def _space(operator: DepthwiseConv2d, widest: int) -> Space:
    along_columns = operator.layout == "NCHW"
    lanes = _lanes(operator, widest)
    tile = tile_values(operator, lanes, _ROWS, _VECTORS, _BANDS)
    row_counts, vector_counts = tile["rows"], tile["vectors"]
    parameters: list[Parameter] = [
        *(Ordinal(name, values) for name, values in tile.items()),
        Categorical("order", (("rows", "columns"), ("columns", "rows"))),
        Categorical("edges", ("peeled", "masked")),
    ]
    if along_columns:
        parameters.append(Categorical("shifts", ("loads", "shuffles")))
    taps = math.prod(operator.kernel)
    constraints = [
        Constraint(f"rows * vectors <= {MAX_SUMS}"),
        Constraint(f"rows * vectors * {taps} <= {MAX_MULTIPLY_ADDS}"),
    ]
    if along_columns:
        constraints.append(Constraint(f"(vectors - 1) * lanes < {operator.output_image[1]}"))
    for each in lanes:
        for count in vector_counts:
            short = _short_when_peeled(operator, each, count, row_counts)
            if short != row_counts:
                other = f"lanes != {each} or vectors != {count}"
                fits = f"edges == 'masked' or rows in {[*short]}"
                constraints.append(Constraint(f"{other} or {fits}"))
    return Space(parameters, constraints)


def _short_when_peeled(
    operator: DepthwiseConv2d, lanes: int, vectors: int, rows: tuple[int, ...]
) -> tuple[int, ...]:
    """The rows of a register tile whose code, once for each kind of edge, is not too long."""
    taps = math.prod(operator.kernel)

    def multiply_adds(count: int) -> int:
        ways = (Blocking(lanes, count, vectors, shuffled=way) for way in (False, True))
        return max(layout_of(operator, way).multiply_adds for way in ways) * taps

    return tuple(count for count in rows if multiply_adds(count) <= MAX_MULTIPLY_ADDS)
