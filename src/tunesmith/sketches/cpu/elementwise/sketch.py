"""The CPU sketch for chains of elementwise operations."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Elementwise, Operator
from tunesmith.sketches.cpu.elementwise.estimate import estimated_seconds
from tunesmith.sketches.cpu.elementwise.program import Blocking, Rows, elementwise_program
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.space import Config, Constraint, Ordinal, Space
from tunesmith.target import Target

_UNROLL = (1, 2, 4, 8)
# Tasks for each core.
_TASKS = (1, 2, 4, 8)
# What the default does: so many vectors a step, and another core for so many elements.
_DEFAULT_UNROLL = 4
_ELEMENTS_PER_TASK = 16384


class CpuElementwise(Sketch):
    """Streams through the tensors in vectors, on all cores or on one.

    All operations of a chain are done on a vector while it is in registers. Numbers per channel are
    in all lanes of a vector for all of a channel's elements, or loaded along the last axis. Rows
    may have any length: the last vector overlaps the one before it. Few elements stay on one core,
    for starting others takes longer.
    """

    name: ClassVar[str] = "cpu_elementwise"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, Elementwise)

    def space(self, operator: Operator, target: Target) -> Space:
        operator = known(self, operator, Elementwise)
        return _space(operator, target.lanes(operator.accumulate_dtype), target.core_count)

    def default(self, operator: Operator, target: Target) -> Config:
        """Whole vectors, four a step; as many cores as there is work for."""
        operator = known(self, operator, Elementwise)
        rows = Rows.of(operator)
        lanes = _lanes(rows, target.lanes(operator.accumulate_dtype))[-1]
        worth = max(1, operator.result.elements // _ELEMENTS_PER_TASK)
        tasks = _tasks(rows, lanes, target.core_count)
        return Config(
            {
                "lanes": lanes,
                "unroll": max(n for n in _unroll(rows, lanes) if n <= _DEFAULT_UNROLL),
                "tasks": max(n for n in tasks if n <= min(worth, target.core_count)),
            }
        )

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, Elementwise)
        with instantiating(self.space(operator, target), config):
            return elementwise_program(operator, _blocking(config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return estimated_seconds(known(self, operator, Elementwise), target, _blocking(config))


def _blocking(config: Config) -> Blocking:
    values: dict[str, Any] = dict(config)
    return Blocking(**values)


@lru_cache(maxsize=64)
def _space(operator: Elementwise, widest: int, cores: int) -> Space:
    rows = Rows.of(operator)
    lanes = _lanes(rows, widest)
    return Space(
        [
            Ordinal("lanes", lanes),
            Ordinal("unroll", _unroll(rows, lanes[0])),
            Ordinal("tasks", _tasks(rows, lanes[-1], cores)),
        ],
        [Constraint(f"unroll * lanes <= {rows.length}")],
    )


def _lanes(rows: Rows, widest: int) -> tuple[int, ...]:
    """The widest vectors that a row fills, and half of them."""
    most = min(widest, emit.power_of_two(rows.length))
    return (most // 2, most) if most > 1 else (1,)


def _unroll(rows: Rows, lanes: int) -> tuple[int, ...]:
    return tuple(count for count in _UNROLL if count * lanes <= max(rows.length, lanes))


def _tasks(rows: Rows, lanes: int, cores: int) -> tuple[int, ...]:
    """How many tasks may share the work: one, or a few for each core."""
    vectors = rows.count * (rows.length // lanes)
    several = {cores * each for each in _TASKS if cores * each <= vectors}
    return tuple(sorted({1} | several))
