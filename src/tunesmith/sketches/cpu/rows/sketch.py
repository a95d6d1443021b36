"""The CPU sketch for softmax and layer normalisation: rows in vectors, shared among the cores."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.errors import UsageError
from tunesmith.operators import Operator, Softmax, element_bits
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.rows.blocking import AGAIN, BLOCKS, PASSES, REGISTERS, Blocking
from tunesmith.sketches.cpu.rows.estimate import estimated_seconds
from tunesmith.sketches.cpu.rows.program import RowOperator, rows_program
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

_UNROLL = (1, 2, 4, 8)
_ROWS = (1, 2, 4)
_BLOCKS = (512, 1024, 2048, 4096)
# Vectors of a step, and those that a program may keep in registers and on the stack: they bound the
# code of exp, about 20 instructions a vector.
_MOST_AT_ONCE = 8
_MOST_IN_REGISTERS = 32
# Fewer elements than this are not worth waking another core for.
_ELEMENTS_PER_TASK = 8192


class CpuRows(Sketch):
    """Shares rows among the cores and does all stages of some rows at once, in vectors.

    Several partial results stand side by side, so that no addition waits for the one before. Rows
    may have any length: the last vector overlaps the one before it. ``method`` says how the stages
    follow each other: with the row in ``registers``; in ``passes`` over it; with the statistics of
    ``blocks`` put together, for rows that do not fit into a cache; or with exp computed ``again``
    in place of being stored. exp is code of vectors (``exponential``).
    """

    name: ClassVar[str] = "cpu_rows"
    version: ClassVar[int] = 2

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, RowOperator)

    def space(self, operator: Operator, target: Target) -> Space:
        known = _known(operator)
        return _space(known, target.lanes(known.accumulate_dtype), target.core_count)

    def default(self, operator: Operator, target: Target) -> Config:
        """Whole vectors, four at once; in registers where a row fits there, else in passes."""
        operator = _known(operator)
        lanes = _lanes(operator.n, target.lanes(operator.accumulate_dtype))[-1]
        worth = max(1, operator.m * operator.n // _ELEMENTS_PER_TASK)
        wanted = min(worth, target.core_count)
        rows, unroll = _side_by_side(operator, target)
        values: dict[str, Any] = {
            "lanes": lanes,
            "unroll": max(n for n in _unroll(operator.n, lanes) if n <= unroll),
            "rows": rows,
            "tasks": max(n for n in _tasks(operator.m, target.core_count) if n <= wanted),
            "method": REGISTERS
            if _vectors(operator.n, lanes) <= target_vectors(target)
            else PASSES,
        }
        if isinstance(operator, Softmax):
            values["prefetch"] = True
        if _blocks(operator.n):
            values["block"] = _blocks(operator.n)[-1]
        return Config(values)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = _known(operator)
        with instantiating(self.space(operator, target), config):
            return rows_program(operator, _blocking(config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return estimated_seconds(_known(operator), target, _blocking(config))


def _known(operator: Operator) -> RowOperator:
    if not isinstance(operator, RowOperator):
        raise UsageError(
            f"sketch {CpuRows.name} is for softmax and layer_norm: take another for {operator.name}"
        )
    return operator


def _blocking(config: Config) -> Blocking:
    values: dict[str, Any] = dict(config)
    return Blocking(**values)


# -- the space ------------------------------------------------------------------------------------


def target_vectors(target: Target) -> int:
    """How many vectors of a row the default keeps in registers."""
    return 16 if target.lanes("float32") >= 16 else 8


def _side_by_side(operator: RowOperator, target: Target) -> tuple[int, int]:
    """How many rows the default does at once, and vectors of each: four vectors in all.

    Two rows of softmax where they stay in L1 and exp has enough registers: the latencies of their
    reductions then overlap.
    """
    machine = Machine.of(target)
    row = operator.n * element_bits(operator.accumulate_dtype) // 8
    near = machine.level_of(4 * row) == 0 and machine.vector_registers >= 32
    paired = isinstance(operator, Softmax) and operator.m >= 2 * target.core_count and near
    return (2, 2) if paired else (1, 4)


def _lanes(length: int, widest: int) -> tuple[int, ...]:
    """The widest vectors that a row fills, and half of them."""
    most = min(widest, emit.power_of_two(length))
    return (most // 2, most) if most > 1 else (1,)


def _vectors(length: int, lanes: int) -> int:
    return emit.tile_count(length, lanes)


def _unroll(length: int, lanes: int) -> tuple[int, ...]:
    return tuple(count for count in _UNROLL if count <= max(1, length // lanes))


def _tasks(count: int, cores: int) -> tuple[int, ...]:
    """How many tasks may share the rows: one, or a few for each core."""
    if cores == 1:
        return (1,)
    return tuple(sorted({1} | {cores * each for each in (1, 2, 4, 8) if cores * each <= count}))


def _blocks(length: int) -> tuple[int, ...]:
    """Blocks of which a row has at least two."""
    return tuple(block for block in _BLOCKS if 2 * block <= length)


@lru_cache(maxsize=64)
def _space(operator: RowOperator, widest: int, cores: int) -> Space:
    lanes, blocks = _lanes(operator.n, widest), _blocks(operator.n)
    rows = tuple(count for count in _ROWS if count <= operator.m)
    methods = [REGISTERS] if _vectors(operator.n, lanes[-1]) <= _MOST_IN_REGISTERS else []
    methods.append(PASSES)
    if isinstance(operator, Softmax):
        methods.append(AGAIN)
    if blocks:
        methods.append(BLOCKS)
    parameters: list[Parameter] = [
        Ordinal("lanes", lanes),
        Ordinal("unroll", _unroll(operator.n, lanes[0])),
        Ordinal("rows", rows),
        Ordinal("tasks", _tasks(operator.m, cores)),
        Categorical("method", tuple(methods)),
    ]
    if isinstance(operator, Softmax):
        parameters.append(Categorical("prefetch", (False, True)))
    constraints = [
        Constraint(f"unroll * rows <= {_MOST_AT_ONCE}"),
        Constraint(f"unroll * lanes <= {operator.n}"),
    ]
    if blocks:
        parameters.append(Ordinal("block", blocks))
        # The size of blocks means nothing without them.
        constraints.append(Constraint(f"method == '{BLOCKS}' or block == {blocks[-1]}"))
    if REGISTERS in methods:
        constraints += [
            Constraint(
                f"method != '{REGISTERS}' or lanes != {each} or "
                f"rows * {_vectors(operator.n, each)} <= {_MOST_IN_REGISTERS}"
            )
            for each in lanes
        ]
    return Space(parameters, constraints)
