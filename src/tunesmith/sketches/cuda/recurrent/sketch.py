"""The GPU sketch for LSTM and GRU."""

# ruff: noqa: ARG002 - the same configs make sense on every GPU, whatever the target

from __future__ import annotations

from typing import Any, ClassVar

from tunesmith.errors import UsageError
from tunesmith.operators import Operator, RecurrentOperator, element_bits
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, bytes_of_tensors, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu, estimated
from tunesmith.sketches.cuda.limits import LIMITS, WARP
from tunesmith.sketches.cuda.recurrent.program import Tiling, recurrent_program
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.space import Config, Constraint, Ordinal, Space
from tunesmith.target import Target

# Instructions of a thread around the sums of a step, of a unit's gates, and for each partial sum.
_AROUND, _GATES, _A_SUM = 8, 150, 4
# The latency of the L2 cache in cycles, and registers besides sums, weights and states.
_L2_CYCLES, _OTHER_REGISTERS = 300, 24


class CudaRecurrent(Sketch):
    """Computes each step by a kernel whose blocks have all gates of some units.

    The threads of a unit share the products of its sums, add up their parts in shared memory, and
    make the new states of them. Weights are transposed, constant ones once, so that neighbouring
    threads read neighbouring units.
    """

    name: ClassVar[str] = "cuda_recurrent"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and isinstance(operator, RecurrentOperator)

    def space(self, operator: Operator, target: Target) -> Space:
        operator = _known(operator)
        size = operator.gate_count * element_bits(operator.accumulate_dtype) // 8
        return Space(
            [
                Ordinal("units", (4, 8, 16, 32, 64)),
                Ordinal("rows", emit.powers_up_to(min(8, operator.b))),
                Ordinal("slices", emit.powers_up_to(min(64, operator.units))),
                Ordinal("unroll", (1, 2, 4, 8)),
            ],
            [
                Constraint(f"units * slices <= {LIMITS.threads}"),
                Constraint(f"units * slices * rows * {size} <= {LIMITS.shared_bytes}"),
                Constraint(f"slices * unroll <= {max(operator.units, 1)}"),
            ],
        )

    def default(self, operator: Operator, target: Target) -> Config:
        """As many blocks as possible whose warps read whole lines, of 256 threads or fewer."""
        operator = _known(operator)
        units = 16
        slices = max(n for n in emit.powers_up_to(16) if n <= operator.units)
        unroll = max(n for n in (1, 2, 4) if n * slices <= operator.units)
        rows = max(n for n in emit.powers_up_to(4) if n <= operator.b)
        while units * slices * rows * operator.gate_count * 8 > LIMITS.shared_bytes:
            slices //= 2
        return Config({"units": units, "rows": rows, "slices": slices, "unroll": unroll})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = _known(operator)
        with instantiating(self.space(operator, target), config):
            return recurrent_program(operator, _tiling(config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator, tiling = _known(operator), _tiling(config)
        return estimated(target, lambda gpu: _seconds(operator, tiling, gpu))


def _known(operator: Operator) -> RecurrentOperator:
    if not isinstance(operator, RecurrentOperator):
        raise UsageError(
            f"sketch {CudaRecurrent.name} is for lstm and gru: take another for {operator.name}"
        )
    return operator


def _tiling(config: Config) -> Tiling:
    chosen: dict[str, Any] = dict(config)
    return Tiling(**chosen)


def _seconds(operator: RecurrentOperator, tiling: Tiling, gpu: Gpu) -> float:
    """About how long a call takes: the kernels of all steps."""
    warps = emit.tile_count(tiling.threads, WARP)
    sums, gates = tiling.sums(operator), operator.gate_count
    items = tiling.rows * tiling.units
    finishing = gates * tiling.slices * _A_SUM + _GATES
    size = element_bits(operator.dtype) // 8
    work = BlockWork(
        threads=tiling.threads,
        registers=sums + tiling.unroll * (gates + tiling.rows) + _OTHER_REGISTERS,
        shared_bytes=tiling.shared_bytes(operator),
        steps=emit.tile_count(operator.units, tiling.slices * tiling.unroll),
        arithmetic=tiling.unroll * tiling.threads * sums / gpu.lanes,
        shared=0.0,
        instructions=warps * (tiling.unroll * (sums + gates + tiling.rows) + _AROUND),
        bytes=tiling.unroll * (tiling.threads * gates + tiling.slices * tiling.rows) * size,
        waiting=_L2_CYCLES,
        outside=emit.tile_count(items, WARP) * finishing + warps * sums * _A_SUM,
    )
    step = seconds(work, tiling.blocks(operator), gpu, bytes_of_tensors(operator))
    return operator.steps * step
