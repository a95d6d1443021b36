"""The CPU sketch for LSTM and GRU: a product for each step, with all gates in register tiles."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from tunesmith.errors import UsageError
from tunesmith.operators import Operator, RecurrentOperator, element_bits
from tunesmith.sketches.cpu.gemm import ALONG_DEPTH, Packing, Plan, Precision
from tunesmith.sketches.cpu.gemm import space as loops
from tunesmith.sketches.cpu.gemm.estimate import Traffic, product_seconds
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.recurrent.program import Gates, recurrent_program
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Space
from tunesmith.target import Target

_CHOICES = loops.LoopChoices(
    rows=range(1, 11),
    chains=(1, 2, 4),
    prefetch=(0, 4, 8, 16, 32),
    parts=(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
    per_core=(1, 2, 4),
    blocks=(1, 2, 4),
    largest_body=128,
)
# Cycles of the gates of a vector of units: two or three times sigmoid, tanh once or twice.
_GATES_CYCLES = 80.0
# The default's k tile: panels of two vectors then take an eighth of a usual L2.
_DEFAULT_DEPTH = 1024


class CpuRecurrent(Sketch):
    """Sums the gates of some units in one register tile, and makes their new states of it.

    Each step is the product of the hidden states and the weights, with the loops of ``cpu_gemm``;
    the weights are in panels of vectors of units, each with all gates of its units. ``vectors`` of
    a tile are a multiple of the gates. A step is shared among the cores, and the next one begins
    when all of them are done. The panels of constant weights are filled by ``prepare``.
    """

    name: ClassVar[str] = "cpu_recurrent"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and isinstance(operator, RecurrentOperator)

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(_known(operator), target)

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(_known(operator), target)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = _known(operator)
        with instantiating(self.space(operator, target), config):
            return recurrent_program(operator, _plan(operator, target, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator, machine = _known(operator), Machine.of(target)
        plan = _plan(operator, target, config)
        size = element_bits(operator.dtype) // 8
        left = Traffic(ALONG_DEPTH, size, size * operator.units)
        right = Traffic(ALONG_DEPTH, size, size * operator.units, operator.constant_weights)
        vectors = operator.b * emit.tile_count(operator.units, plan.blocking.lanes)
        gates = vectors * _GATES_CYCLES * machine.parallel_share(plan.tasks) / machine.hertz
        return operator.steps * (product_seconds(plan, machine, left, right) + gates)


def _known(operator: Operator) -> RecurrentOperator:
    if not isinstance(operator, RecurrentOperator):
        raise UsageError(
            f"sketch {CpuRecurrent.name} is for lstm and gru: take another for {operator.name}"
        )
    return operator


def _plan(operator: RecurrentOperator, target: Target, config: Config) -> Plan:
    """What a config says."""
    gates = Gates(operator, _lanes(operator, target))
    size = (1, operator.b, gates.columns)
    whole = Config({**config, "pack_right": str(Packing.WHOLE)})
    return loops.plan_of(operator, target, whole, size, ("pack_left", "pack_right"))


def _lanes(operator: RecurrentOperator, target: Target) -> int:
    """The widest vectors that the units fill."""
    return loops.widest_lanes(operator, operator.units, target)


def _precision(operator: RecurrentOperator, target: Target) -> Precision:
    return Precision.for_operator(operator, target, _lanes(operator, target))


def _packings(operator: RecurrentOperator, target: Target) -> tuple[str, ...]:
    """Where the hidden states may be packed: only packing makes words of several elements."""
    return loops.packings(readable=_precision(operator, target).group == 1)


@lru_cache(maxsize=64)
def _space(operator: RecurrentOperator, target: Target) -> Space:
    lanes, gates = _lanes(operator, target), operator.gate_count
    size = (operator.b, Gates(operator, lanes).columns)
    depths = loops.depths_of(_precision(operator, target), operator.units)
    parameters = {one.name: one for one in _CHOICES.parameters(size, (lanes,), depths, target)}
    parameters["vectors"] = Ordinal("vectors", range(gates, loops.MOST_VECTORS + 1, gates))
    conditions = [*_CHOICES.register_conditions(target), *loops.tile_conditions(*size)]
    return Space(
        [*parameters.values(), Categorical("pack_left", _packings(operator, target))],
        map(Constraint, conditions),
    )


@lru_cache(maxsize=64)
def _default(operator: RecurrentOperator, target: Target) -> Config:
    """All gates of one vector of units, and as many sequences as there are registers for."""
    lanes, gates = _lanes(operator, target), operator.gate_count
    most = (Machine.of(target).vector_registers - 1 - gates) // gates
    rows = min(operator.b, most, max(_CHOICES.rows))
    size, tile = (operator.b, Gates(operator, lanes).columns), (rows, gates * lanes)
    depths = loops.depths_of(_precision(operator, target), operator.units)
    unroll = 2 if 2 * rows * gates <= _CHOICES.largest_body else 1
    return Config(
        {
            "rows": rows,
            "vectors": gates,
            "lanes": lanes,
            "depth": loops.default_depth(depths, _DEFAULT_DEPTH),
            "chains": 2 if 2 * rows <= most else 1,
            "unroll": unroll,
            "prefetch": 0,
            "outer": "columns",
            "inner": "columns",
            "blocks": 1,
            "pack_left": _packings(operator, target)[0],
            **_CHOICES.default_parts(1, size, tile, target),
        }
    )
