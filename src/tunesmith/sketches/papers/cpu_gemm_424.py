"""The space of the G-BFS and N-A2C paper on the CPU: a product tiled by 4, 2 and 4 factors."""

# ruff: noqa: ARG002 - the same configs make sense on every CPU, whatever the target

from __future__ import annotations

import math
from typing import Any, ClassVar

from tunesmith.operators import Matmul, Operator
from tunesmith.sketches.cpu.tiled.stages import LANES
from tunesmith.sketches.sketch import ScheduleSketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.definitions import begin
from tunesmith.sketches.tir.loop_nest import LoopNest, known_loop_nest, lower, output_stage
from tunesmith.space import Config, Factorization, Space
from tunesmith.target import Target

# The most multiply-adds of vectors in straight code. A larger register tile does not fit the
# registers of any machine (32), and longer code takes longer to build.
MAX_UNROLLED = 64
# The most rows of the default's register tile, so that 16 registers hold it.
_DEFAULT_ROWS = 6

Tiles = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class CpuGemm424(ScheduleSketch):
    """Only when named: the space d = (4, 2, 4) of the G-BFS and N-A2C paper, for ``matmul``.

    Rows are split in four nested loops, the sum in two and columns in four, and that is all there
    is to choose (sections 2.3 and 4). The loops are m0 n0 m1 n1 k0 m2 n2 k1 m3 n3: m0 and n0 are
    shared among the cores, sums of the tile below n1 are kept in a buffer until they are complete,
    m3 and n3 are a register tile, whose vectors run along n3. It is there to repeat the
    paper's experiments; ``cpu_gemm`` is for speed.
    """

    name: ClassVar[str] = "cpu_gemm_424"
    version: ClassVar[int] = 1
    only_by_name: ClassVar[bool] = True

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, Matmul)

    def space(self, operator: Operator, target: Target) -> Space:
        product = known(self, operator, Matmul)
        return Space(
            [
                Factorization("tile_m", product.m, 4),
                Factorization("tile_k", product.k, 2),
                Factorization("tile_n", product.n, 4),
            ]
        )

    def default(self, operator: Operator, target: Target) -> Config:
        """A register tile that suits any machine, its sums complete when it is left."""
        product = known(self, operator, Matmul)
        m, k, n = product.m, product.k, product.n
        rows, columns = emit.largest_divisor(m, _DEFAULT_ROWS), emit.largest_divisor(n, LANES)
        tile_m, tile_n = (m // rows, 1, 1, rows), (1, n // columns, 1, columns)
        return Config({"tile_m": tile_m, "tile_k": (1, k), "tile_n": tile_n})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        return self.schedule(operator, target, config, lower(operator)).mod

    def schedule(self, operator: Operator, target: Target, config: Config, definition: Any) -> Any:
        with instantiating(self.space(operator, target), config):
            schedule, nest = begin(definition, operator, known_loop_nest(operator, self.name))
            _apply(schedule, nest, _tiles(config))
            return schedule


def _tiles(config: Config) -> Tiles:
    m, k, n = (config[name] for name in ("tile_m", "tile_k", "tile_n"))
    assert isinstance(m, tuple) and isinstance(k, tuple) and isinstance(n, tuple)
    return tuple(map(int, m)), tuple(map(int, k)), tuple(map(int, n))


def _apply(schedule: Any, nest: LoopNest, tiles: Tiles) -> None:
    sums = schedule.get_sblock(nest.block)
    output = output_stage(schedule, sums, nest)
    (m0, m1, m2, m3), (k0, k1), (n0, n1, n2, n3) = tiles
    lanes = emit.largest_divisor(n3, LANES)

    rows, columns = schedule.get_loops(output)
    outer_m, middle_m, rows = schedule.split(rows, [m0, m1, m2 * m3])
    outer_n, middle_n, columns, lane = schedule.split(columns, [n0, n1, n2 * n3 // lanes, lanes])
    schedule.reorder(outer_m, outer_n, middle_m, middle_n, rows, columns, lane)
    _vectorize(schedule, lane)
    schedule.compute_at(sums, middle_n, preserve_unit_loops=True)
    schedule.parallel(schedule.fuse(outer_m, outer_n))

    rows, columns, steps = schedule.get_loops(sums)[-3:]
    rows, tile_m = schedule.split(rows, [m2, m3])
    columns, tile_n, lane = schedule.split(columns, [n2, n3 // lanes, lanes])
    blocks, steps = schedule.split(steps, [k0, k1])
    schedule.reorder(blocks, rows, columns, steps, tile_m, tile_n, lane)
    _vectorize(schedule, lane)
    _unroll(schedule, [tile_n, tile_m, steps])
    # Last: vectorised loops need the sum in one piece.
    start = schedule.decompose_reduction(sums, blocks)
    _vectorize(schedule, schedule.get_loops(start)[-1])


def _vectorize(schedule: Any, loop: Any) -> None:
    if int(schedule.get(loop).extent) > 1:
        schedule.vectorize(loop)


def _unroll(schedule: Any, loops: list[Any]) -> None:
    """Unroll these loops, the innermost first, as long as their body is not too long."""
    extents = [int(schedule.get(loop).extent) for loop in loops]
    for number, loop in enumerate(loops):
        if math.prod(extents[: number + 1]) <= MAX_UNROLLED and extents[number] > 1:
            schedule.unroll(loop)
