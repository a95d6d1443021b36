"""The CPU sketch for products of matrices: register tiles over packed panels, written out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, cast

from tunesmith.errors import UsageError
from tunesmith.operators import MATRIX_PRODUCTS, Operator, ProductOperator, element_bits
from tunesmith.sketches.cpu.gemm import ALONG_SIZE, Blocking, Packing, Plan, Precision, Side
from tunesmith.sketches.cpu.gemm.estimate import READY_SUMS, Traffic, product_seconds
from tunesmith.sketches.cpu.gemm.matrices import Matrices, matrices_of
from tunesmith.sketches.cpu.gemm.product import multiply, pack
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import WEIGHT, program_with_weights
from tunesmith.space import Categorical, Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

# Vectors of sums times unrolling: larger bodies take long to compile and are no faster.
_LARGEST_BODY = 256
_CHAINS = (1, 2, 4, 8)
_UNROLL = (1, 2, 4, 8)
_PREFETCH = (0, 4, 8, 16, 32)
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_BLOCKS = (1, 2, 4, 8, 16)
_MOST_VECTORS = 8
# A shorter stretch of the reduction costs more in storing sums than it saves in the caches.
_SHORTEST_DEPTH = 64
# The default's stretch: panels of two vectors then take an eighth of a usual L2.
_DEFAULT_DEPTH = 1024


class CpuGemm(Sketch):
    """Multiplies matrices from packed panels, or in place; all sums of a tile stay in registers.

    The structure is that of Goto and van de Geijn ("Anatomy of high-performance matrix
    multiplication", 2008), but tiles overlap where they do not divide the result, the panels of
    each operand can be left out where it is read well as it is, and whatever can be chosen is a
    parameter. The panels of constant weights are filled by ``prepare``.
    """

    name: ClassVar[str] = "cpu_gemm"
    version: ClassVar[int] = 2

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
    numbers: dict[str, Any] = {n: value for n, value in config.items() if isinstance(value, int)}
    precision = Precision.for_operator(operator, target, numbers["lanes"])
    return Plan(
        matrices.batch,
        matrices.rows,
        matrices.columns,
        matrices.depth,
        precision,
        target.lanes(precision.word),
        Blocking(
            **numbers,
            outer=Side(str(config["outer"])),
            inner=Side(str(config["inner"])),
            pack_left=Packing(str(config["pack_left"])),
            pack_right=Packing(str(config["pack_right"])),
        ),
    )


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
    with (
        emit.module() as made,
        emit.function("main", [*operator.arguments, operator.result]) as buffers,
    ):
        main(buffers)
    return made[0]


@lru_cache(maxsize=256)
def _traffic(operator: ProductOperator) -> tuple[Traffic, Traffic]:
    """The operands as an estimate sees them."""
    matrices = matrices_of(operator)
    itemsize = element_bits(operator.dtype) // 8
    sizes = {Side.ROWS: matrices.rows, Side.COLUMNS: matrices.columns}
    left, right = (
        Traffic(
            matrices.along(side),
            itemsize,
            itemsize * (size if matrices.along(side) == ALONG_SIZE else matrices.depth),
            ready=operator.constant_weights and side is Side.COLUMNS and not matrices.turned,
        )
        for side, size in sizes.items()
    )
    return left, right


# -- the space -----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _space(operator: ProductOperator, target: Target) -> Space:
    matrices, registers = matrices_of(operator), Machine.of(target).vector_registers
    lanes = _lanes(operator, target)
    sides = tuple(map(str, Side))
    parameters: list[Parameter] = [
        Ordinal("rows", range(1, min(registers - 2, matrices.rows) + 1)),
        Ordinal("vectors", range(1, min(_MOST_VECTORS, matrices.columns // lanes[0]) + 1)),
        Ordinal("lanes", lanes),
        Ordinal("depth", _depths(operator, target)),
        Ordinal("chains", _CHAINS),
        Ordinal("unroll", _UNROLL),
        Ordinal("prefetch", _PREFETCH),
        Ordinal("row_parts", _parts(matrices.rows, target)),
        Ordinal("column_parts", _parts(matrices.columns, target)),
        Categorical("outer", sides),
        Categorical("inner", sides),
        Ordinal("blocks", _BLOCKS),
        Categorical("pack_left", _packings(operator, target, Side.ROWS)),
        Categorical("pack_right", _packings(operator, target, Side.COLUMNS)),
        Categorical("fetch_next", (False, True) if matrices.batch > 1 else (False,)),
    ]
    return Space(parameters, map(Constraint, _conditions(matrices, registers)))


def _conditions(matrices: Matrices, registers: int) -> list[str]:
    rows, columns = matrices.rows, matrices.columns
    return [
        f"rows * vectors * chains + vectors + 1 <= {registers}",
        f"rows * vectors * unroll <= {_LARGEST_BODY}",
        "chains <= unroll",
        f"vectors * lanes <= {columns}",
        # Each part has a tile, and each block of a part.
        f"(row_parts - 1) * rows < {rows}",
        f"(column_parts - 1) * vectors * lanes < {columns}",
        f"inner == 'columns' or (row_parts * blocks - 1) * rows < {rows}",
        f"inner == 'rows' or (column_parts * blocks - 1) * vectors * lanes < {columns}",
        "prefetch == 0 or pack_right != 'none'",
    ]


def _lanes(operator: ProductOperator, target: Target) -> tuple[int, ...]:
    """Lanes of a vector of sums: as many as there are, half of them too if there would be tails."""
    columns = matrices_of(operator).columns
    whole = target.lanes(operator.accumulate_dtype)
    while whole > columns:
        whole //= 2
    return (whole // 2, whole) if whole > 4 and columns % whole else (whole,)


def _precision(operator: ProductOperator, target: Target) -> Precision:
    return Precision.for_operator(operator, target, _lanes(operator, target)[-1])


def _depths(operator: ProductOperator, target: Target) -> tuple[int, ...]:
    """Stretches of the reduction in words: all of it, and its longer divisors.

    Where its last word is not full, or sums begin behind the last one, there is but one stretch.
    """
    precision, depth = _precision(operator, target), operator.reduction_length
    words = precision.words(depth)
    if depth % precision.group or precision.compensates:
        return (words,)
    shorter = range(_SHORTEST_DEPTH, words // 2 + 1)
    return (*(divisor for divisor in shorter if words % divisor == 0), words)


def _parts(extent: int, target: Target) -> tuple[int, ...]:
    cores = target.core_count
    parts = {*_PARTS, cores, 2 * cores, 4 * cores}
    return tuple(sorted(part for part in parts if part <= extent))


def _packings(operator: ProductOperator, target: Target, side: Side) -> tuple[str, ...]:
    """Where an operand may be packed. Constant weights are so before the call, or not at all."""
    matrices = matrices_of(operator)
    # Words of several elements are put together by packing, vectors by loads.
    readable = _precision(operator, target).group == 1 and (
        side is Side.ROWS or matrices.along(side) == ALONG_SIZE
    )
    constant = operator.constant_weights and side is Side.COLUMNS and not matrices.turned
    return tuple(
        map(str, [Packing.NONE] * readable + [Packing.WHOLE] + [Packing.BLOCK] * (not constant))
    )


# -- the default ---------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _default(operator: ProductOperator, target: Target) -> Config:
    matrices, machine = matrices_of(operator), Machine.of(target)
    lanes = _lanes(operator, target)[-1]
    rows = min(matrices.rows, machine.vector_registers // 4)
    # As many vectors as registers can hold, or fewer where tiles then overlap less.
    most = min(
        (machine.vector_registers - 1) // (rows + 1), _MOST_VECTORS, matrices.columns // lanes
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
    chosen |= _default_parts(matrices, rows, vectors * lanes, target)
    left = _packings(operator, target, Side.ROWS)
    right = _packings(operator, target, Side.COLUMNS)
    short = matrices.batch >= max(2, target.core_count) or matrices.rows <= rows
    chosen["pack_left"] = left[0] if short else "whole"
    # Constant weights are packed before the call.
    in_place = short and not operator.constant_weights
    chosen["pack_right"] = ("none" if "none" in right else right[-1]) if in_place else "whole"
    stretch = _DEFAULT_DEPTH // 4 if chosen["pack_right"] == "block" else _DEFAULT_DEPTH
    depths = _depths(operator, target)
    chosen["depth"] = max([d for d in depths if d <= stretch], default=depths[-1])
    return Config(chosen)


def _default_parts(matrices: Matrices, rows: int, columns: int, target: Target) -> dict[str, int]:
    """A share for each core, of the longer side; a batch is shared as it is."""
    tiles = {
        "row_parts": emit.tile_count(matrices.rows, rows),
        "column_parts": emit.tile_count(matrices.columns, columns),
    }
    parts = dict.fromkeys(tiles, 1)
    if matrices.batch < max(2, target.core_count):
        longer = max(tiles, key=lambda name: tiles[name])
        shares = _parts(tiles[longer], target)
        parts[longer] = max(share for share in shares if share <= target.core_count)
    return parts
