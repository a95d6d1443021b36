"""The CPU sketch for reductions of neighbouring axes of any tensor."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.operators import Operator, Reduce
from tunesmith.sketches.cpu.reduce.estimate import reduce_seconds
from tunesmith.sketches.cpu.reduce.program import Blocking, reduce_program
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

_UNROLL = (1, 2, 4, 8)
_VECTORS = (1, 2, 4, 8)
# Sums of a tile: they are kept in registers.
_MOST_SUMS = 16
# Parts of an axis, at the most, for each core.
_MOST_PARTS = 4
# Fewer elements than this are not worth waking another core for.
_ELEMENTS_WORTH_SHARING = 65536


class CpuReduce(Sketch):
    """Sums, means, maxima and minima in vectors, several of which are combined at once.

    Vectors run along the reduced axis if its elements are neighbours in memory, several rows at a
    time, else along the axis after it. Rows and columns are shared among the cores; where there are
    few of them, so are the parts of the reduced axis, which are then combined in a second pass.

    An extreme of values among which there is NaN may be any of them.
    """

    name: ClassVar[str] = "cpu_reduce"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, Reduce)

    def space(self, operator: Operator, target: Target) -> Space:
        operator = known(self, operator, Reduce)
        return _space(operator, target.lanes(operator.accumulate_dtype), target.core_count)

    def default(self, operator: Operator, target: Target) -> Config:
        """Whole vectors, eight sums at a time; shared where it is worth, in parts if it must be."""
        operator = known(self, operator, Reduce)
        cores = target.core_count
        lanes = _lanes(operator, target.lanes(operator.accumulate_dtype))[-1]
        shared = cores > 1 and operator.arguments[0].elements >= _ELEMENTS_WORTH_SHARING
        chosen: dict[str, Any] = {"lanes": lanes, "parts": 1, "shared": shared}
        if operator.inner == 1:
            chosen["unroll"] = max(n for n in _unroll(operator, lanes) if n <= 4)
            tasks = operator.outer // (lanes if operator.outer >= lanes else 1)
        else:
            chosen["vectors"] = max(n for n in _vectors(operator, lanes) if n <= 4)
            chosen["unroll"] = max(n for n in _unroll(operator, 1) if n * chosen["vectors"] <= 8)
            tasks = operator.outer * emit.tile_count(operator.inner, lanes * chosen["vectors"])
        if shared and tasks < cores:
            chosen["parts"] = max(n for n in _parts(operator, cores) if n <= cores)
        return Config({name: chosen[name] for name in self.space(operator, target).names})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, Reduce)
        with instantiating(self.space(operator, target), config):
            return reduce_program(operator, _blocking(config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return reduce_seconds(known(self, operator, Reduce), target, _blocking(config))


def _blocking(config: Config) -> Blocking:
    return Blocking(**{"vectors": 1, **dict[str, Any](config)})


# -- the space ------------------------------------------------------------------------------------


def _lanes(operator: Reduce, widest: int) -> tuple[int, ...]:
    """The widest vectors that there are elements for, and half of them."""
    length = operator.n if operator.inner == 1 else operator.inner
    most = min(widest, emit.power_of_two(length))
    return (most // 2, most) if most > 1 else (1,)


def _unroll(operator: Reduce, lanes: int) -> tuple[int, ...]:
    return tuple(count for count in _UNROLL if count <= max(1, operator.n // lanes))


def _vectors(operator: Reduce, lanes: int) -> tuple[int, ...]:
    return tuple(count for count in _VECTORS if count * lanes <= max(lanes, operator.inner))


def _parts(operator: Reduce, cores: int) -> tuple[int, ...]:
    """Parts of equal length: one, or some for the cores."""
    most = min(_MOST_PARTS * cores, operator.n) if cores > 1 else 1
    return tuple(count for count in range(1, most + 1) if operator.n % count == 0)


@lru_cache(maxsize=64)
def _space(operator: Reduce, widest: int, cores: int) -> Space:
    lanes, parts = _lanes(operator, widest), _parts(operator, cores)
    sharing = (False, True) if cores > 1 else (False,)
    along_rows = operator.inner == 1
    parameters: list[Parameter] = [
        Ordinal("lanes", lanes),
        Ordinal("unroll", _unroll(operator, lanes[0] if along_rows else 1)),
        Ordinal("parts", parts),
        Categorical("shared", sharing),
    ]
    constraints = [Constraint("shared or parts == 1")]
    if along_rows:
        constraints.append(Constraint(f"unroll * lanes <= {max(operator.n, lanes[-1])}"))
    else:
        parameters.append(Ordinal("vectors", _vectors(operator, lanes[0])))
        constraints.append(Constraint(f"vectors * unroll <= {_MOST_SUMS}"))
        constraints.append(Constraint(f"vectors * lanes <= {max(operator.inner, lanes[-1])}"))
    return Space(parameters, constraints)
