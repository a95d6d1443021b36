"""The program of an operator along rows: the rows shared among the cores, some at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.operators import LayerNorm, Softmax
from tunesmith.sketches.cpu.rows.blocking import Blocking
from tunesmith.sketches.cpu.rows.layer_norm import LayerNormRows
from tunesmith.sketches.cpu.rows.softmax import SoftmaxRows
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_of

RowOperator = Softmax | LayerNorm


def rows_program(operator: RowOperator, blocking: Blocking) -> Any:
    """The module of a blocking, whose ``main`` takes the operator's arguments and its result."""

    def main(buffers: Sequence[Any]) -> None:
        if isinstance(operator, Softmax):
            _share(operator.m, blocking, lambda: SoftmaxRows(operator, blocking, buffers).emit)
        else:
            _share(operator.m, blocking, lambda: LayerNormRows(operator, blocking, buffers).emit)

    return program_of(operator, main)


def _share(
    count: int, blocking: Blocking, make: Callable[[], Callable[[Sequence[Any]], None]]
) -> None:
    """Emit what ``make`` returns for all rows. ``make`` is called once in the code of a task, where
    it may allocate memory."""
    together = blocking.rows
    # Whole groups of rows a task, so that only the last task has single ones.
    groups = emit.tile_count(count, together)
    share = emit.tile_count(groups, blocking.tasks) * together
    tasks = emit.tile_count(count, share)
    if tasks == 1:
        _each(0, count, count, together, make())
        return
    with emit.parallel(tasks, "task") as task:
        begin = emit.bind("first", task * share)
        end = emit.minimum(begin + share, count) if count % share else begin + share
        _each(begin, emit.bind("rows", end - begin), count, together, make())


def _each(
    begin: Any, number: Any, count: int, together: int, body: Callable[[Sequence[Any]], None]
) -> None:
    groups = number // together
    with emit.serial(groups, "group") as group:
        row = emit.bind("row", begin + group * together)
        body([row + one for one in range(together)])
    if count % together:
        with emit.serial(number - groups * together, "single") as single:
            body([emit.bind("row", begin + groups * together + single)])
