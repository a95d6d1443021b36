"""The roofline of a machine: the least time in which an operator can be computed on it.

Williams, Waterman and Patterson, "Roofline: An insightful visual performance model for multicore
architectures", Communications of the ACM 52 (4), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tunesmith.operators import Operator
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.target import Target


class Limit(StrEnum):
    """What bounds an operator's speed on a machine."""

    ARITHMETIC = "arithmetic"
    MEMORY = "memory"


@dataclass(frozen=True)
class Bound:
    """The least ``seconds`` of a call, and what they are spent on."""

    seconds: float
    limit: Limit


def bound(operator: Operator, target: Target) -> Bound | None:
    """The longer one of computing at the machine's peak and of moving each argument and the result
    once, all cores together.

    The data come from the cache that holds all of them. Algorithms that need fewer operations than
    ``operator.flops``, such as Winograd's, may be faster than the bound of arithmetic. None for
    GPUs and for types whose peak is not known: integers, whose dot products differ by processor.
    """
    if target.kind != "cpu" or operator.dtype not in _COMPUTED_AS:
        return None
    machine = Machine.of(target)
    peak = machine.peak * machine.lanes(_COMPUTED_AS[operator.dtype]) / machine.lanes("float32")
    moved = sum(tensor.bytes for tensor in (*operator.arguments, operator.result))
    computing, moving = operator.flops / peak, moved / machine.bandwidth(moved)
    if computing >= moving:
        return Bound(computing, Limit.ARITHMETIC)
    return Bound(moving, Limit.MEMORY)


# Half precision is widened to float32, unless a processor has instructions of its own for it.
_COMPUTED_AS = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float64",
}
