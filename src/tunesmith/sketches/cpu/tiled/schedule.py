"""How a config of the generic CPU sketch becomes a program: its loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tunesmith.operators import Operator
from tunesmith.sketches.cpu.tiled.stages import LANES, StageChoices, stages_of, vectorize_loop
from tunesmith.sketches.tir.loop_nest import LoopNest
from tunesmith.space import Config


class TiledSchedule:
    """One schedule in the making: the TVM schedule, its blocks, and the choices of the config.

    ``definition`` is an unscheduled module of the operator, and ``nest`` the operator's own loop
    nest. Raises ``InstantiationError`` for a definition that computes something else.
    """

    def __init__(self, definition: Any, operator: Operator, nest: LoopNest, config: Config) -> None:
        self.config = config
        self.inner = {
            axis.name: self._tile(axis.name)[-1]
            for axis in (*nest.tiled_spatial, *nest.tiled_reduction)
        }
        choices = StageChoices.of(nest, config, self.inner)
        self.stages = stages_of(definition, operator, nest, choices)
        self.schedule = self.stages.schedule
        self.nest = self.stages.nest

    def apply(self) -> Any:
        """The schedule, complete."""
        main, padding = self.stages.main, self.stages.padding
        outer, middle, register = self._tile_output(self.stages.output)
        at_tile = self._choice("accumulate", "registers") == "tile"
        place = (outer if at_tile else middle)[-1]
        self.schedule.compute_at(main, place, preserve_unit_loops=True)
        sums = self._tile_reduction(main)
        if padding is not None and self._choice("pad", "root") == "tile":
            self.schedule.compute_at(padding, outer[-1], preserve_unit_loops=True)
            vectorize_loop(self.schedule, self.schedule.get_loops(padding)[-1])
        self._parallelize(outer)
        vectorize_loop(self.schedule, register[-1])
        # Last: parallel and vectorised loops need the reduction in one piece.
        self._schedule_start(self.schedule.decompose_reduction(main, sums))
        return self.schedule

    # -- choices ---------------------------------------------------------------------------------

    def _choice(self, name: str, otherwise: Any) -> Any:
        return self.config.get(name, otherwise)

    def _tile(self, axis: str) -> tuple[int, ...]:
        return tuple(int(part) for part in self.config[f"tile_{axis}"])  # type: ignore[union-attr]

    def _ordered(self, parameter: str, loops: dict[str, Any], names: Sequence[str]) -> list[Any]:
        """``loops`` with those that the permutation names in its order, unit loops in front."""
        order = self._choice(parameter, tuple(name for name in names if name in self.inner))
        units = [loop for name, loop in loops.items() if name not in self.inner]
        return [*units, *(loops[name] for name in order)]

    # -- tiling ----------------------------------------------------------------------------------

    def _tile_output(self, output: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Split the loops of the output stage; returns outer, middle and register-tile loops."""
        schedule = self.schedule
        names = [axis.name for axis in self.nest.spatial]
        levels: list[dict[str, Any]] = [{}, {}, {}]
        for name, loop in zip(names, schedule.get_loops(output), strict=True):
            factors = self._tile(name) if name in self.inner else (1, 1, 1)
            for level, part in zip(levels, schedule.split(loop, list(factors)), strict=True):
                level[name] = part
        outer = self._ordered("order_outer", levels[0], names)
        middle = self._ordered("order_middle", levels[1], names)
        register = list(levels[2].values())
        schedule.reorder(*outer, *middle, *register)
        return outer, middle, register

    def _tile_reduction(self, main: Any) -> Any:
        """Order the loops of the sums: outer reduction, middle tiles, inner reduction, registers.

        Returns the outermost reduction loop.
        """
        schedule = self.schedule
        spatial_names = [axis.name for axis in self.nest.spatial]
        reduction_names = [axis.name for axis in self.nest.reduction]
        count = len(spatial_names) + len(reduction_names)
        loops = schedule.get_loops(main)[-count:]
        middle: dict[str, Any] = {}
        register: dict[str, Any] = {}
        for name, loop in zip(spatial_names, loops, strict=False):
            middle[name], register[name] = schedule.split(loop, [None, self.inner.get(name, 1)])
        outer_sum: dict[str, Any] = {}
        inner_sum: dict[str, Any] = {}
        for name, loop in zip(reduction_names, loops[len(spatial_names) :], strict=True):
            parts = schedule.split(loop, [None, self.inner.get(name, 1)])
            outer_sum[name], inner_sum[name] = parts
        vector = self._choice("vectorize", spatial_names[-1])
        register_loops = [register[name] for name in spatial_names if name != vector]
        register_loops.append(register[vector])
        sums = self._ordered("order_reduction", outer_sum, reduction_names)
        inner_sums = self._ordered("order_reduction", inner_sum, reduction_names)
        tiles = self._ordered("order_middle", middle, spatial_names)
        schedule.reorder(*sums, *tiles, *inner_sums, *register_loops)
        vectorize_loop(self.schedule, register_loops[-1])
        self._unroll(inner_sums, register_loops)
        return sums[0]

    def _schedule_start(self, start: Any) -> None:
        """Set the sums to their first value by whole vectors.

        The loops of the new stage are the spatial ones in the order of the reduction stage, so the
        vectorised one is last.
        """
        count = 2 * len(self.nest.spatial)
        loops = self.schedule.get_loops(start)[-count:]
        vectorize_loop(self.schedule, loops[-1])

    # -- annotations -----------------------------------------------------------------------------

    def _extent(self, loop: Any) -> int:
        return int(self.schedule.get(loop).extent)

    def _unroll(self, inner_sums: list[Any], register: list[Any]) -> None:
        """Unroll the register tile, then steps of the reduction while the body is small enough.

        Sums stay in registers only if no loop is left among them: a tile of vectors, which the
        space keeps small, is unrolled at any size. ``register`` ends with the vectorised loop.
        """
        vectors = "vectorize" in self.config
        size = math.ceil(self._extent(register[-1]) / LANES) if vectors else 1
        limit = int(self._choice("unroll", 1))
        if vectors:
            size *= math.prod(self._extent(loop) for loop in register[:-1])
            self._unroll_all(register[:-1])
        for loop in reversed(inner_sums if vectors else [*inner_sums, *register[:-1]]):
            size *= self._extent(loop)
            if size > limit:
                return
            self._unroll_all([loop])

    def _unroll_all(self, loops: list[Any]) -> None:
        for loop in loops:
            if self._extent(loop) > 1:
                self.schedule.unroll(loop)

    def _parallelize(self, outer: list[Any]) -> None:
        """Share the outermost loops among the cores, as many of them as the config says."""
        units = len(self.nest.spatial) - len(self.nest.tiled_spatial)
        count = units + int(self._choice("parallel", 1))
        fused = self.schedule.fuse(*outer[: min(count, len(outer))])
        self.schedule.parallel(fused)
