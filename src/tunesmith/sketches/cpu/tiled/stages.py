"""The stages of a program around its loops: padding, packed inputs, and the buffer of the sums.

Few choices of a config decide about them, and TVM takes half of a schedule's time for them, as it
rewrites all indices where a layout changes. So they are made once for each choice, and the tiling
of a config goes on from a copy, which costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tunesmith.operators import Operator
from tunesmith.sketches.cpu.tiled.packing import Packing, packing_of
from tunesmith.sketches.tir.definitions import begin
from tunesmith.sketches.tir.loop_nest import LoopNest, lower, output_stage
from tunesmith.sketches.tir.schedules import copy_of
from tunesmith.space import Config

# How many floats a vector register of the widest CPUs holds (AVX-512).
LANES = 16
# Loops longer than this are split before they are vectorised, or they become one huge vector.
_WIDEST_VECTOR = 4 * LANES

# Of 1,000 random configs of a layer of ResNet-18, 100 differ in these choices. Schedules take some
# tens of kB.
_KEPT = 128


@dataclass(frozen=True)
class StageChoices:
    """What a config says of the stages.

    ``pad`` is where padding is computed: ``root``, ``tile`` or ``inline``. ``packed`` has the
    inputs that are packed, each by the name of its buffer with the innermost tiles of the axes that
    it is blocked by. ``vector`` is the vectorised axis.
    """

    pad: str
    packed: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    vector: str | None

    @classmethod
    def of(cls, nest: LoopNest, config: Config, inner: Mapping[str, int]) -> StageChoices:
        """``inner`` are the innermost tiles of the config's axes."""
        packed = []
        for access in nest.inputs:
            packing = packing_of(nest, access)
            if packing is not None and config.get(f"pack_{access.buffer}", False):
                axes = [packing.axis(dimension) for dimension in packing.blocked]
                packed.append((access.buffer, tuple((axis, inner.get(axis, 1)) for axis in axes)))
        vector = config.get("vectorize", None)
        return cls(
            pad=str(config.get("pad", "root")),
            packed=tuple(packed),
            vector=None if vector is None else str(vector),
        )


@dataclass(frozen=True)
class Stages:
    """A TVM schedule that has its stages, with the loops of ``main`` and ``output`` as yet whole.

    ``main`` is the block of the sums, ``output`` the one that stores the result, and ``padding``
    the one that pads, if any is left. ``nest`` is the loop nest of what is scheduled.
    """

    schedule: Any
    nest: LoopNest
    main: Any
    output: Any
    padding: Any | None


def stages_of(definition: Any, operator: Operator, nest: LoopNest, choices: StageChoices) -> Stages:
    """The stages of a definition of an operator. ``nest`` is the operator's own loop nest.

    Raises ``InstantiationError`` like ``begin``.
    """
    if definition is not lower(operator):
        return _made(definition, operator, nest, choices)
    kept = _kept(operator, nest, choices)
    return replace(kept, schedule=copy_of(kept.schedule))


@lru_cache(maxsize=_KEPT)
def _kept(operator: Operator, nest: LoopNest, choices: StageChoices) -> Stages:
    return _made(lower(operator), operator, nest, choices)


def _made(definition: Any, operator: Operator, nest: LoopNest, choices: StageChoices) -> Stages:
    schedule, found = begin(definition, operator, nest)
    main = schedule.get_sblock(found.block)
    padding = _place_padding(schedule, found, choices)
    tiles = {buffer: dict(inner) for buffer, inner in choices.packed}
    for number, access in enumerate(found.inputs):
        packing = packing_of(found, access)
        if packing is not None and access.buffer in tiles:
            writer = padding if access.produced else schedule.cache_read(main, number, "global")
            _pack(schedule, writer, packing, tiles[access.buffer])
    if padding is not None and choices.pad == "root":
        loops = schedule.get_loops(padding)
        vectorize_loop(schedule, loops[-1])
        schedule.parallel(schedule.fuse(*loops[:-1]))
    output = output_stage(schedule, main, found)
    _make_contiguous(schedule, main, [axis.name for axis in found.spatial], choices.vector)
    return Stages(schedule, found, main, output, padding)


def _place_padding(schedule: Any, nest: LoopNest, choices: StageChoices) -> Any | None:
    """Inline all producers but the last, and that too if the config says so."""
    last = None
    for index, name in enumerate(nest.producers):
        block = schedule.get_sblock(name)
        if index > 0 or choices.pad == "inline":
            schedule.compute_inline(block)
        else:
            last = block
    return last


def _pack(schedule: Any, stage: Any, packing: Packing, inner: Mapping[str, int]) -> None:
    """Let the stage that writes an input write it in blocks."""
    from tvm.tirx import IndexMap

    rank = len(packing.access.shape)
    index_map = IndexMap.from_func(packing.index_map(inner), ndim=rank, index_dtype="int32")
    schedule.transform_layout(stage, ("write", 0), index_map, assume_injective_transform=True)
    if not packing.access.produced:
        _schedule_copy(schedule, stage, packing, inner)


def _schedule_copy(schedule: Any, stage: Any, packing: Packing, inner: Mapping[str, int]) -> None:
    """Write the packed buffer in its own order: whole blocks shared among the cores."""
    loops = schedule.get_loops(stage)
    outer, parts = list(loops), []
    for dimension, factor in packing.factors(inner).items():
        outer[dimension], part = schedule.split(loops[dimension], [None, factor])
        parts.append(part)
    rest = [loop for d, loop in enumerate(outer) if d not in packing.leading]
    leading = [outer[d] for d in packing.leading]
    schedule.reorder(*leading, *rest, *parts)
    vectorize_loop(schedule, parts[-1])
    schedule.parallel(schedule.fuse(*leading, *rest[:1]) if leading else rest[0])


def _make_contiguous(schedule: Any, main: Any, names: list[str], vector: str | None) -> None:
    """Move the vectorised axis last in the buffer of sums, so that a vector is one store."""
    from tvm.tirx import IndexMap

    if vector is None or vector == names[-1]:
        return
    position = names.index(vector)

    def moved(*index: Any) -> tuple[Any, ...]:
        return (*index[:position], *index[position + 1 :], index[position])

    schedule.transform_layout(
        main,
        ("write", 0),
        IndexMap.from_func(moved, ndim=len(names), index_dtype="int32"),
        assume_injective_transform=True,
    )


def vectorize_loop(schedule: Any, loop: Any) -> None:
    """Vectorise a loop, or its innermost part, if its length is known."""
    from tvm.tirx import IntImm

    # A tile at an edge of the image may read less than others: vectors need a known length.
    length = schedule.get(loop).extent
    if not isinstance(length, IntImm):
        return
    extent = int(length)
    if extent > _WIDEST_VECTOR and extent % LANES == 0:
        _, loop = schedule.split(loop, [None, LANES])
        extent = LANES
    if 1 < extent <= _WIDEST_VECTOR:
        schedule.vectorize(loop)
