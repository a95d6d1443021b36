"""How a config of the generic CPU sketch becomes a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tunesmith.sketches.cpu.tiled.packing import Packing, packing_of
from tunesmith.sketches.tir.loop_nest import Access, LoopNest, output_stage
from tunesmith.space import Config

# How many floats a vector register of the widest CPUs holds (AVX-512).
LANES = 16
# Loops longer than this are split before they are vectorised, or they become one huge vector.
_WIDEST_VECTOR = 4 * LANES


class TiledSchedule:
    """One schedule in the making: the TVM schedule, its blocks, and the choices of the config.

    ``nest`` is the loop nest of what is scheduled.
    """

    def __init__(self, schedule: Any, nest: LoopNest, config: Config) -> None:
        self.nest = nest
        self.config = config
        self.schedule = schedule
        self.main = self.schedule.get_sblock(nest.block)
        self.inner = {
            axis.name: self._tile(axis.name)[-1]
            for axis in (*nest.tiled_spatial, *nest.tiled_reduction)
        }

    def apply(self) -> Any:
        """The schedule, complete."""
        padding = self._place_padding()
        self._pack_inputs(padding)
        output = output_stage(self.schedule, self.main, self.nest)
        self._make_vector_axis_contiguous()
        outer, middle, register = self._tile_output(output)
        at_tile = self._choice("accumulate", "registers") == "tile"
        place = (outer if at_tile else middle)[-1]
        self.schedule.compute_at(self.main, place, preserve_unit_loops=True)
        sums = self._tile_reduction()
        if padding is not None and self._choice("pad", "root") == "tile":
            self.schedule.compute_at(padding, outer[-1], preserve_unit_loops=True)
            self._vectorize_last(padding)
        self._parallelize(outer)
        self._vectorize_loop(register[-1])
        # Last: parallel and vectorised loops need the reduction in one piece.
        self._schedule_start(self.schedule.decompose_reduction(self.main, sums))
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

    # -- stages around the reduction -------------------------------------------------------------

    def _place_padding(self) -> Any | None:
        """Inline all producers but the last, and that too if the config says so."""
        schedule = self.schedule
        last = None
        for index, name in enumerate(self.nest.producers):
            block = schedule.get_sblock(name)
            if index > 0 or self._choice("pad", "root") == "inline":
                schedule.compute_inline(block)
            else:
                last = block
        return last

    def _pack_inputs(self, padding: Any | None) -> None:
        for access in self.nest.inputs:
            packing = packing_of(self.nest, access)
            packed = packing is not None and self._choice(f"pack_{access.buffer}", False)
            if packing is not None and packed:
                stage = padding if access.produced else self._copy_of(access)
                index_map = self._index_map(packing)
                self.schedule.transform_layout(
                    stage, ("write", 0), index_map, assume_injective_transform=True
                )
                if not access.produced:
                    self._schedule_copy(stage, packing)
        if padding is not None and self._choice("pad", "root") == "root":
            loops = self.schedule.get_loops(padding)
            self._vectorize_loop(loops[-1])
            self.schedule.parallel(self.schedule.fuse(*loops[:-1]))

    def _copy_of(self, access: Access) -> Any:
        return self.schedule.cache_read(self.main, self.nest.inputs.index(access), "global")

    def _index_map(self, packing: Packing) -> Any:
        from tvm.tirx import IndexMap

        rank = len(packing.access.shape)
        return IndexMap.from_func(packing.index_map(self.inner), ndim=rank, index_dtype="int32")

    def _schedule_copy(self, stage: Any, packing: Packing) -> None:
        """Write the packed buffer in its own order: whole blocks shared among the cores."""
        schedule = self.schedule
        loops = schedule.get_loops(stage)
        outer, inner = list(loops), []
        for dimension, factor in packing.factors(self.inner).items():
            outer[dimension], part = schedule.split(loops[dimension], [None, factor])
            inner.append(part)
        rest = [loop for d, loop in enumerate(outer) if d not in packing.leading]
        leading = [outer[d] for d in packing.leading]
        schedule.reorder(*leading, *rest, *inner)
        self._vectorize_loop(inner[-1])
        schedule.parallel(schedule.fuse(*leading, *rest[:1]) if leading else rest[0])

    def _make_vector_axis_contiguous(self) -> None:
        """Move the vectorised axis last in the buffer of sums, so that a vector is one store."""
        from tvm.tirx import IndexMap

        vector = self._choice("vectorize", None)
        names = [axis.name for axis in self.nest.spatial]
        if vector is None or vector == names[-1]:
            return
        position = names.index(vector)

        def moved(*index: Any) -> tuple[Any, ...]:
            return (*index[:position], *index[position + 1 :], index[position])

        self.schedule.transform_layout(
            self.main,
            ("write", 0),
            IndexMap.from_func(moved, ndim=len(names), index_dtype="int32"),
            assume_injective_transform=True,
        )

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

    def _tile_reduction(self) -> Any:
        """Order the loops of the sums: outer reduction, middle tiles, inner reduction, registers.

        Returns the outermost reduction loop.
        """
        schedule = self.schedule
        spatial_names = [axis.name for axis in self.nest.spatial]
        reduction_names = [axis.name for axis in self.nest.reduction]
        count = len(spatial_names) + len(reduction_names)
        loops = schedule.get_loops(self.main)[-count:]
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
        self._vectorize_loop(register_loops[-1])
        self._unroll(inner_sums, register_loops)
        return sums[0]

    def _schedule_start(self, start: Any) -> None:
        """Set the sums to their first value by whole vectors.

        The loops of the new stage are the spatial ones in the order of the reduction stage, so the
        vectorised one is last.
        """
        count = 2 * len(self.nest.spatial)
        loops = self.schedule.get_loops(start)[-count:]
        self._vectorize_loop(loops[-1])

    # -- annotations -----------------------------------------------------------------------------

    def _extent(self, loop: Any) -> int:
        return int(self.schedule.get(loop).extent)

    def _vectorize_loop(self, loop: Any) -> None:
        from tvm.tirx import IntImm

        # A tile at an edge of the image may read less than others: vectors need a known length.
        if not isinstance(self.schedule.get(loop).extent, IntImm):
            return
        extent = self._extent(loop)
        if extent > _WIDEST_VECTOR and extent % LANES == 0:
            _, loop = self.schedule.split(loop, [None, LANES])
            extent = LANES
        if 1 < extent <= _WIDEST_VECTOR:
            self.schedule.vectorize(loop)

    def _vectorize_last(self, block: Any) -> None:
        self._vectorize_loop(self.schedule.get_loops(block)[-1])

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
