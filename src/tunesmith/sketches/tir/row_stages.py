"""The stages of a row-wise operator, several of them reductions, for sketches that schedule it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tunesmith.errors import UsageError
from tunesmith.operators import Operator
from tunesmith.sketches.tir.loop_nest import lower
from tunesmith.sketches.tir.schedules import schedule_of


@dataclass(frozen=True)
class RowStages:
    """The stages of an operator in order; ``reductions`` and ``elementwise`` leave out the last.

    Of the elementwise ones, ``long`` are those with a value for each element of a row. ``sums``
    are the element types of the reductions' results.
    """

    rows: int
    length: int
    reductions: tuple[str, ...]
    elementwise: tuple[str, ...]
    long: tuple[str, ...]
    output: str
    sums: tuple[str, ...]


def known_row_stages(operator: Operator, sketch: str) -> RowStages:
    """The same for an operator that is row-wise. Raises ``UsageError`` if it is not."""
    stages = row_stages(operator)
    if stages is None:
        raise UsageError(
            f"sketch {sketch} needs several reductions over rows, {operator.name} has not"
        )
    return stages


@lru_cache(maxsize=64)
def row_stages(operator: Operator) -> RowStages | None:
    """The stages of a row-wise operator, or None if it is not one."""
    shape = operator.result.shape
    if len(shape) != 2:
        return None
    schedule = schedule_of(lower(operator))
    blocks = [schedule.get(b) for b in schedule.get_child_blocks(schedule.get_sblock("root"))]
    reductions = tuple(block.name_hint for block in blocks[:-1] if block.init is not None)
    between = [block for block in blocks[:-1] if block.init is None]
    elementwise = tuple(block.name_hint for block in between)
    long = tuple(block.name_hint for block in between if len(block.iter_vars) > 1)
    rows = {int(block.iter_vars[0].dom.extent) for block in blocks}
    ranks = {len(block.iter_vars) for block in blocks if block.init is not None}
    if len(reductions) < 2 or rows != {shape[0]} or ranks != {2} or blocks[-1].init is not None:
        return None
    return RowStages(
        rows=shape[0],
        length=shape[1],
        reductions=reductions,
        elementwise=elementwise,
        long=long,
        output=blocks[-1].name_hint,
        sums=tuple(str(block.writes[0].source.dtype) for block in blocks if block.init is not None),
    )
