"""The CPU sketch of direct convolution: register tiles of any size, held over the whole sum."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

from tunesmith.operators import Conv2d, Operator
from tunesmith.sketches.cpu.direct import model
from tunesmith.sketches.cpu.direct.plan import Plan
from tunesmith.sketches.cpu.direct.program import direct_program
from tunesmith.sketches.cpu.direct.space import MAX_STATEMENTS, direct_space
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.space import Config, Space
from tunesmith.target import Target

_DTYPES = ("float32", "float64", "float16")


class CpuDirect(Sketch):
    """Convolves without a matrix of windows: data are read in place, or from a padded copy.

    A register tile of output pixels (rows x columns) and output channels holds its sums in
    registers over all input channels and the whole window. Vectors run along output channels, each
    multiplied by a broadcast of data, or along output columns, each multiplied by a broadcast of a
    weight. Weights are packed in the order in which the tile reads them, and may be prefetched
    ``prefetch`` terms of the sum ahead. Tiles need not divide the output: the last one overlaps its
    neighbour, is a smaller one with code of its own, or goes on in the next row (``tails``). Where
    vectors do not run along the innermost axis of the output, the tile is transposed in registers,
    so that all stores are vectors too.

    Pixels of 1x1 windows are a single axis. Data are padded (and, under strides, left with only the
    columns that are read) once for all, or by each task for the rows that it needs (``copy``);
    ``data`` says whether a block of ``block`` input channels is contiguous in the copy. Tasks
    share out tiles of channels and of pixels; of these the ``order`` puts one outside the other:
    ``weights`` goes over all pixels with the weights of a tile, ``pixels`` over all weights.

    The structure is that of Georganas et al., "Anatomy of High-Performance Deep Learning
    Convolutions on SIMD Architectures" (SC 2018), section II, without its blocked layouts of the
    output.
    """

    name: ClassVar[str] = "cpu_direct"
    version: ClassVar[int] = 2

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, Conv2d) and operator.dtype in _DTYPES

    def space(self, operator: Operator, target: Target) -> Space:
        return direct_space(known(self, operator, Conv2d), Machine.of(target).vector_registers)

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(known(self, operator, Conv2d), target, target.core_count)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        op = known(self, operator, Conv2d)
        with instantiating(self.space(op, target), config):
            return direct_program(Plan.of(op, target, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return model.seconds(
            Plan.of(known(self, operator, Conv2d), target, config), Machine.of(target)
        )


# Input channels that the default unrolls: their data take up no more lines than one of them.
_DEFAULT_BLOCK = 16
# Tasks for each core of the default, so that cores that start late or are slower get fewer.
_DEFAULT_TASKS = 4


@lru_cache(maxsize=64)
def _default(operator: Conv2d, target: Target, cores: int) -> Config:
    """Vectors of channels, data copied only to be padded; the model chooses the tile, and whether
    it goes on in the next row; then whether weights are prefetched."""
    sketch = CpuDirect()
    space = sketch.space(operator, target)
    choices: dict[str, Any] = {
        parameter.name: getattr(parameter, "values", ()) for parameter in space.parameters
    }
    split = max(count for count in choices["split_pixels"] if count <= _DEFAULT_TASKS * cores)
    block = max(count for count in choices["block"] if count <= _DEFAULT_BLOCK)
    fixed = {"vectorize": "channels", "block": block, "data": "plain", "prefetch": 0}
    fixed |= {"copy": choices["copy"][0], "split_channels": 1, "split_pixels": split}
    machine = Machine.of(target)

    def seconds(config: Config) -> float:
        return model.seconds(Plan.of(operator, target, config), machine)

    found = []
    tiles = choices["tile_rows"], choices["tile_columns"], choices["tile_channels"]
    # Smaller tiles at the edges are further code, which takes longer to build.
    tails = [value for value in choices["tails"] if value != "peel"]
    for rows, columns, channels, order, tail in product(*tiles, choices["order"], tails):
        if rows * columns * channels + channels >= machine.vector_registers:
            continue  # not in the space, whose check takes longer
        most = min(block, MAX_STATEMENTS // (rows * columns * channels))
        steps = max((count for count in choices["steps"] if count <= most), default=1)
        tile = {"tile_rows": rows, "tile_columns": columns, "tile_channels": channels}
        config = Config({**fixed, **tile, "steps": steps, "order": order, "tails": tail})
        if space.contains(config):
            found.append(config)
    best = min(found, key=seconds)
    return min(best, best.replace(prefetch=choices["prefetch"][-1]), key=seconds)
