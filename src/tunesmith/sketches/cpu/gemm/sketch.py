"""The CPU sketch for products of matrices: register tiles over packed panels, written out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, cast

from tunesmith.errors import UsageError
from tunesmith.operators import MATRIX_PRODUCTS, Operator, ProductOperator
from tunesmith.sketches.cpu.gemm import space as loops
from tunesmith.sketches.cpu.gemm.blocking import Packing, Plan, Side
from tunesmith.sketches.cpu.gemm.estimate import READY_SUMS, Traffic, product_seconds
from tunesmith.sketches.cpu.gemm.matrices import matrices_of
from tunesmith.sketches.cpu.gemm.operand import ALONG_SIZE
from tunesmith.sketches.cpu.gemm.precision import Precision
from tunesmith.sketches.cpu.gemm.product import multiply, pack
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import WEIGHT, program_of, program_with_weights
from tunesmith.space import Categorical, Config, Constraint, Space
from tunesmith.target import Target

_CHOICES = loops.LoopChoices(
    rows=range(1, 31),
    chains=(1, 2, 4, 8),
    prefetch=(0, 4, 8, 16, 32),
    parts=(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
    per_core=(1, 2, 4),
    blocks=(1, 2, 4, 8, 16),
    largest_body=256,
)
# The default's k tile: panels of two vectors then take an eighth of a usual L2.
_DEFAULT_DEPTH = 1024


class CpuGemm(Sketch):
    """Multiplies matrices from packed panels, or in place; all sums of a tile stay in registers.

    The structure is that of Goto and van de Geijn ("Anatomy of high-performance matrix
    multiplication", 2008), but tiles overlap where they do not divide the result, the panels of
    each operand can be left out where it is read well as it is, and whatever can be chosen is a
    parameter. The panels of constant weights are filled by ``prepare``.
    """

    name: ClassVar[str] = "cpu_gemm"
    version: ClassVar[int] = 3

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cpu" and operator.name in MATRIX_PRODUCTS

    def space(self, operator: Operator, target: Target) -> Space:
        return _space(_product(operator), target)

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(_product(operator), target)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        with instantiating(self.space(operator, target), config):
            return _program(_product(operator), plan_of(_product(operator), target, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        product = _product(operator)
        left, right = _traffic(product)
        plan = plan_of(product, target, config)
        return product_seconds(plan, Machine.of(target), left, right)


def _product(operator: Operator) -> ProductOperator:
    if operator.name not in MATRIX_PRODUCTS:
        raise UsageError(
            f"sketch {CpuGemm.name} is for {', '.join(MATRIX_PRODUCTS)}: "
            f"{operator.name} is none of them"
        )
    return cast(ProductOperator, operator)


# -- the program ---------------------------------------------------------------------------------


def plan_of(operator: ProductOperator, target: Target, config: Config) -> Plan:
    """What a config says."""
    matrices = matrices_of(operator)
    size = (matrices.batch, matrices.rows, matrices.columns)
    return loops.plan_of(operator, target, config, size, ("pack_left", "pack_right"))


def _program(operator: ProductOperator, plan: Plan) -> Any:
    matrices = matrices_of(operator)

    def prepare(weight: Any, panels: Any) -> None:
        pack(plan, Side.COLUMNS, matrices.source(Side.COLUMNS, [None, weight]), panels)

    def main(buffers: Sequence[Any], right_panels: Any | None = None) -> None:
        multiply(
            plan,
            matrices.source(Side.ROWS, buffers),
            matrices.source(Side.COLUMNS, buffers),
            matrices.put(operator, buffers),
            right_panels=right_panels,
            streams=matrices.streams(buffers) if plan.blocking.fetch_next else (),
        )

    if plan.blocking.pack_right is Packing.WHOLE and not matrices.turned:
        return program_with_weights(
            operator,
            plan.panels(Side.COLUMNS),
            prepare,
            lambda buffers: main(buffers, buffers[WEIGHT]),
        )
    return program_of(operator, main)


@lru_cache(maxsize=256)
def _traffic(operator: ProductOperator) -> tuple[Traffic, Traffic]:
    """The operands as an estimate sees them."""
    matrices = matrices_of(operator)
    ready, dtype, depth = _packed_before(operator), operator.dtype, matrices.depth
    return (
        Traffic.of_matrix(matrices.left_along, matrices.rows, depth, dtype, ready=False),
        Traffic.of_matrix(matrices.right_along, matrices.columns, depth, dtype, ready=ready),
    )


def _packed_before(operator: ProductOperator) -> bool:
    """Whether the right operand is packed before the call."""
    return operator.constant_weights and not matrices_of(operator).turned


# -- the space -----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _space(operator: ProductOperator, target: Target) -> Space:
    matrices, lanes = matrices_of(operator), _lanes(operator, target)
    size = matrices.rows, matrices.columns
    parameters = [
        *_CHOICES.parameters(size, lanes, _depths(operator, target), target),
        Categorical("pack_left", _packings(operator, target, Side.ROWS)),
        Categorical("pack_right", _packings(operator, target, Side.COLUMNS)),
        Categorical("fetch_next", (False, True) if matrices.batch > 1 else (False,)),
    ]
    conditions = [
        *_CHOICES.register_conditions(target),
        *loops.tile_conditions(*size),
        "prefetch == 0 or pack_right != 'none'",
    ]
    return Space(parameters, map(Constraint, conditions))


def _lanes(operator: ProductOperator, target: Target) -> tuple[int, ...]:
    """Lanes of a vector of sums: as many as there are, half of them too if there would be tails."""
    columns = matrices_of(operator).columns
    widest = loops.widest_lanes(operator, columns, target)
    return (widest // 2, widest) if widest > 4 and columns % widest else (widest,)


def _precision(operator: ProductOperator, target: Target) -> Precision:
    return Precision.for_operator(operator, target, _lanes(operator, target)[-1])


def _depths(operator: ProductOperator, target: Target) -> tuple[int, ...]:
    return loops.depths_of(_precision(operator, target), operator.reduction_length)


def _packings(operator: ProductOperator, target: Target, side: Side) -> tuple[str, ...]:
    """Where an operand may be packed."""
    matrices = matrices_of(operator)
    # Only packing makes words of several elements; vectors must be contiguous.
    readable = _precision(operator, target).group == 1 and (
        side is Side.ROWS or matrices.along(side) == ALONG_SIZE
    )
    constant = side is Side.COLUMNS and _packed_before(operator)
    return loops.packings(readable=readable, constant=constant)


# -- the default ---------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _default(operator: ProductOperator, target: Target) -> Config:
    matrices, machine = matrices_of(operator), Machine.of(target)
    lanes = _lanes(operator, target)[-1]
    rows = min(matrices.rows, machine.vector_registers // 4)
    # As many vectors as registers can hold, or fewer where tiles then overlap less.
    most = min(
        (machine.vector_registers - 1) // (rows + 1), loops.MOST_VECTORS, matrices.columns // lanes
    )
    vectors = min(
        range(most, 0, -1),
        key=lambda count: (
            emit.tile_count(matrices.columns, count * lanes)
            * machine.register_tile_cycles(
                rows * count, count, rows, accumulators=READY_SUMS * rows * count
            )
        ),
    )
    chosen: dict[str, Any] = {"rows": rows, "vectors": vectors, "lanes": lanes, "chains": 1}
    chosen |= {"unroll": 1, "prefetch": 0, "outer": "rows", "inner": "rows", "blocks": 1}
    chosen["fetch_next"] = matrices.batch > 1
    size, tile = (matrices.rows, matrices.columns), (rows, vectors * lanes)
    chosen |= _CHOICES.default_parts(matrices.batch, size, tile, target)
    left = _packings(operator, target, Side.ROWS)
    right = _packings(operator, target, Side.COLUMNS)
    short = matrices.batch >= max(2, target.core_count) or matrices.rows <= rows
    chosen["pack_left"] = left[0] if short else "whole"
    # Constant weights are packed before the call.
    in_place = short and not operator.constant_weights
    chosen["pack_right"] = ("none" if "none" in right else right[-1]) if in_place else "whole"
    longest = _DEFAULT_DEPTH // 4 if chosen["pack_right"] == "block" else _DEFAULT_DEPTH
    chosen["depth"] = loops.default_depth(_depths(operator, target), longest)
    return Config(chosen)
