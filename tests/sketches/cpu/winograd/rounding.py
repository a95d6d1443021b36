"""What Winograd's convolutions round away: measured, bounded, and as the table of the page.

``python -m tests.sketches.cpu.winograd.rounding`` prints the table of ``docs/sketches.md``.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

import numpy as np

from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Conv2d, Conv2dTranspose, conv2d
from tunesmith.sketches import Sketch, sketch_for
from tunesmith.sketches.cpu.winograd.sketch import CpuWinograd
from tunesmith.space import Config
from tunesmith.target import Target

LARGEST = 1e-3
"""What the relative error may be at most, whatever the tiles and windows."""
TILES = ((2, 2), (2, 4), (4, 4))
CHANNELS = (1, 16, 256)
_ROW = re.compile(r"^\| (\d+) \|((?: [\d.e-]+ \|){4})$", re.MULTILINE)


@dataclass(frozen=True)
class Error:
    """Against the reference in float64: of the whole result by its L2 norm; and the largest of an
    element, as a part of what the operator tolerates."""

    relative: float
    share_of_tolerance: float


def bound(tile_rows: int, tile_columns: int) -> float:
    """What the relative error may be: 1e-4 for F(2x2, 3x3), 1e-3 where an axis has tiles of 4."""
    return 1e-4 if max(tile_rows, tile_columns) == 2 else LARGEST


def measured(operator: Conv2d | Conv2dTranspose, tile_rows: int, tile_columns: int) -> Error:
    """The error of a config with such tiles, on the operator's own inputs."""
    sketch, target = CpuWinograd(), Target()
    rng = np.random.default_rng(0)
    space = sketch.space(operator, target)
    fitting = (
        config
        for config in iter(lambda: space.sample(rng), None)
        if (config["tile_rows"], config["tile_columns"]) == (tile_rows, tile_columns)
    )
    return _error(sketch, operator, target, next(fitting))


def _direct(operator: Conv2d) -> Error:
    """The error of plain sums."""
    target = Target()
    sketch = sketch_for(operator, target, "cpu_tiled")
    return _error(sketch, operator, target, sketch.default(operator, target))


def _error(
    sketch: Sketch, operator: Conv2d | Conv2dTranspose, target: Target, config: Config
) -> Error:
    # Constant weights would be another way through the kernel, with the same numbers.
    operator = dataclasses.replace(operator, constant_weights=False)
    inputs = operator.make_inputs(0)
    program = sketch.program(operator, target, config)
    result = Kernel.build(operator, target, program, config)(*inputs).astype(np.float64)
    precise = dataclasses.replace(operator, dtype="float64")
    exact = precise.reference(*(value.astype(np.float64) for value in inputs))
    rtol, atol = operator.tolerance
    norm = float(np.linalg.norm(exact))
    return Error(
        relative=float(np.linalg.norm(result - exact)) / norm if norm else 0.0,
        share_of_tolerance=float(np.max(np.abs(result - exact) / (atol + rtol * np.abs(exact)))),
    )


def table() -> dict[int, list[float]]:
    """By input channels: the relative errors of plain sums and of each tile in turn."""
    rows = {}
    for channels in CHANNELS:
        operator = conv2d(ci=channels, h=28, w=28, co=16, kernel=3, padding=1)
        winograd = [measured(operator, *tile).relative for tile in TILES]
        rows[channels] = [_direct(operator).relative, *winograd]
    return rows


def read_table(page: str) -> dict[int, list[float]]:
    """The same from the page."""
    return {
        int(row[1]): [float(cell) for cell in row[2].split("|")[:-1]] for row in _ROW.finditer(page)
    }


def _print_table() -> None:
    for channels, errors in table().items():
        print(f"| {channels} | {' | '.join(f'{error:.1e}' for error in errors)} |")


if __name__ == "__main__":
    _print_table()
