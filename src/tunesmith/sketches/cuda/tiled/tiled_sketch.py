"""What all sketches have in common whose configs are tiles for blocks and threads."""

# ruff: noqa: ARG002 - the same configs make sense on every GPU, whatever the target

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator
from tunesmith.sketches.cuda.estimates.block_work import bytes_of_tensors
from tunesmith.sketches.cuda.estimates.gpu import Gpu, estimated
from tunesmith.sketches.cuda.limits import LIMITS, BlockLimits, shared_scope
from tunesmith.sketches.cuda.tiled.block_tiling import Parts, Tiling
from tunesmith.sketches.cuda.tiled.defaults import default_tiles
from tunesmith.sketches.cuda.tiled.schedule import schedule_nest
from tunesmith.sketches.cuda.tiled.sliced_schedule import schedule_in_slices
from tunesmith.sketches.cuda.tiled.work import tiled_seconds
from tunesmith.sketches.sketch import ScheduleSketch, instantiating
from tunesmith.sketches.tir.definitions import begin
from tunesmith.sketches.tir.loop_nest import LoopNest, known_loop_nest, lower
from tunesmith.space import Config, Constraint, Factorization, Parameter, Space
from tunesmith.target import Target


@dataclass(frozen=True)
class Loops:
    """Which loops of an operator are tiled, and for which dimension of the grid.

    ``places`` has the dimension of every spatial axis. Each block has one step of those that are
    ``whole``, which have no parameter; ``pairs`` are split into blocks and threads only. ``names``
    are the names of axes in parameters, where they differ. ``depth`` is how many factors an axis of
    the sum has; that of ``sliced`` has one more, the slices, before the last. See ``Tiling``.
    """

    places: Mapping[str, str]
    whole: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    depth: int = 2
    sliced: str | None = None

    def parameter(self, axis: str) -> str:
        """The name of the parameter that tiles an axis."""
        return f"tile_{self.names.get(axis, axis)}"

    def chosen(self, axis: str, parts: Parts) -> Parts:
        """What there is to choose of the factors of an axis."""
        return parts[::2] if axis in self.pairs else parts

    def factors(self, axis: str) -> int:
        """How many factors an axis of the sum has."""
        return self.depth + (axis == self.sliced)

    def slices(self, axis: str, chosen: Parts) -> int:
        """How many slices there are, by the factors of an axis of the sum."""
        return chosen[-2] if axis == self.sliced else 1

    def of_a_slice(self, axis: str, chosen: Parts) -> Parts:
        """The other factors of an axis of the sum."""
        return (*chosen[:-2], chosen[-1]) if axis == self.sliced else chosen

    def all_four(self, axis: str, chosen: Parts) -> Parts:
        """The four factors of a spatial axis: the inverse of ``chosen``."""
        return (chosen[0], 1, chosen[1], 1) if axis in self.pairs else chosen


class TiledSketch(ScheduleSketch):
    """A sketch whose configs are factors of loops and a few choices more.

    One for a single kind of ``operators``, such as those of papers, has the same ``fixed_loops``
    for all of them and declares what else there is to choose as ``fixed_parameters``.
    """

    operators: ClassVar[type[Operator]]
    fixed_loops: ClassVar[Loops]
    fixed_parameters: ClassVar[Sequence[Parameter]] = ()
    #: The default besides tiles, and the values of what is not a parameter.
    choices: ClassVar[Mapping[str, Any]] = {
        "auto_unroll_max_step": 512,
        "unroll_explicit": 0,
        "vector": 1,
        "stages": 1,
        "async_copy": False,
    }

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and isinstance(operator, self.operators)

    def loops(self, nest: LoopNest) -> Loops:
        """The loops of an operator that the sketch supports."""
        return self.fixed_loops

    def parameters(self, nest: LoopNest, target: Target) -> Sequence[Parameter]:
        """What there is to choose besides tiles."""
        return self.fixed_parameters

    def limits(self, target: Target) -> BlockLimits:
        """The limits of a block. In the papers' spaces they are those of every GPU."""
        return LIMITS

    def constraints(self, nest: LoopNest, target: Target) -> Sequence[Constraint]:
        """Constraints of the space; other limits are checked when a config is scheduled."""
        return ()

    def space(self, operator: Operator, target: Target) -> Space:
        nest = self._nest(operator)
        parameters = [*self._tiles(nest), *self.parameters(nest, target)]
        return Space(parameters, self.constraints(nest, target))

    def default(self, operator: Operator, target: Target) -> Config:
        nest = self._nest(operator)
        configs = (
            self._default_with(operator, target, choices)
            for choices in self.default_choices(nest, target)
        )
        *better, plain = configs
        return next((one for one in better if self._allows(operator, nest, one)), plain)

    def _default_with(
        self, operator: Operator, target: Target, choices: Mapping[str, Any]
    ) -> Config:
        nest = self._nest(operator)
        loops, names = self.loops(nest), self.space(operator, target).names
        staged = {_stage(access.buffer): True for access in nest.inputs}

        def config(tiles: Mapping[str, Parts]) -> Config:
            named = {loops.parameter(a): loops.chosen(a, parts) for a, parts in tiles.items()}
            known = {**self.choices, **staged, **choices, **named}
            return Config({name: known[name] for name in names})

        def fits(tiles: Mapping[str, Parts]) -> bool:
            return self._allows(operator, nest, config(tiles))

        return config(
            default_tiles(
                nest,
                fits,
                whole=loops.whole,
                pairs=loops.pairs,
                depth=loops.depth,
                sliced=loops.sliced,
            )
        )

    def default_choices(self, nest: LoopNest, target: Target) -> Sequence[Mapping[str, Any]]:
        """Values of defaults that differ from ``choices``, the best ones first."""
        return ({},)

    def _allows(self, operator: Operator, nest: LoopNest, config: Config) -> bool:
        """Whether it is within the limits of every GPU, without requesting shared memory."""
        try:
            _check(operator, nest, self._tiling(nest, config), LIMITS)
        except InstantiationError:
            return False
        return True

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        nest = self._nest(operator)

        def seconds(gpu: Gpu) -> float:
            tiling = self._tiling(nest, config)
            _check(operator, nest, tiling, self.limits(target))
            return tiled_seconds(operator, nest, tiling, gpu, bytes_of_tensors(operator))

        return estimated(target, seconds)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        return self.schedule(operator, target, config, lower(operator)).mod

    def schedule(self, operator: Operator, target: Target, config: Config, definition: Any) -> Any:
        nest = self._nest(operator)
        with instantiating(self.space(operator, target), config):
            tiling = self._tiling(nest, config)
            _check(operator, nest, tiling, self.limits(target))
            schedule, found = begin(definition, operator, nest)
            units = {axis.name: (1,) * tiling.depth for axis in found.reduction}
            tiling = replace(tiling, reduction={**units, **tiling.reduction})
            make = schedule_in_slices if tiling.slices > 1 else schedule_nest
            make(schedule, found, tiling, shared_scope(tiling.use(operator, nest).shared_bytes))
            return schedule

    def _nest(self, operator: Operator) -> LoopNest:
        return known_loop_nest(operator, self.name)

    def _tiles(self, nest: LoopNest) -> list[Parameter]:
        loops = self.loops(nest)
        spatial = [axis for axis in nest.spatial if axis.name not in loops.whole]
        return [
            *(
                Factorization(loops.parameter(a.name), a.extent, 2 if a.name in loops.pairs else 4)
                for a in spatial
            ),
            *(
                Factorization(loops.parameter(a.name), a.extent, loops.factors(a.name))
                for a in nest.reduction
            ),
        ]

    def _tiling(self, nest: LoopNest, config: Config) -> Tiling:
        loops = self.loops(nest)
        chosen: dict[str, Any] = {**self.choices, **config}
        spatial = {
            axis.name: (axis.extent, 1, 1, 1)
            if axis.name in loops.whole
            else loops.all_four(axis.name, chosen[loops.parameter(axis.name)])
            for axis in nest.spatial
        }
        sums = {axis.name: chosen[loops.parameter(axis.name)] for axis in nest.reduction}
        buffers = [access.buffer for access in nest.inputs]
        return Tiling(
            spatial=spatial,
            reduction={axis: loops.of_a_slice(axis, parts) for axis, parts in sums.items()},
            places=loops.places,
            staged=frozenset(b for b in buffers if chosen.get(_stage(b), True)),
            vector=chosen["vector"],
            write_vector=chosen["vector"],
            auto_unroll_max_step=chosen["auto_unroll_max_step"],
            unroll_explicit=bool(chosen["unroll_explicit"]),
            stages=chosen["stages"],
            asynchronous=bool(chosen["async_copy"]),
            slices=max(loops.slices(axis, parts) for axis, parts in sums.items()),
            sliced=loops.sliced,
        )


def _check(operator: Operator, nest: LoopNest, tiling: Tiling, limits: BlockLimits) -> None:
    """Raises ``InstantiationError`` where a tiling is impossible or exceeds the limits."""
    tiling.check_stages(operator, nest)
    limits.check(tiling.use(operator, nest))


def _stage(buffer: str) -> str:
    """The parameter that says whether an input goes through shared memory."""
    return f"stage_{buffer}"
