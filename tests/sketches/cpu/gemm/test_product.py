"""The core of products, on operands that are no matrices in memory."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tunesmith.compiler.compile import compiled
from tunesmith.operators import Argument
from tunesmith.sketches.cpu.gemm import (
    Blocking,
    Operand,
    Packing,
    Plan,
    Precision,
    Products,
    Side,
    multiply,
    pack,
)
from tunesmith.sketches.tir import emit
from tunesmith.target import Target

TARGET = Target()
ROWS, COLUMNS, DEPTH = 9, 21, 12


def _plan(dtype: str = "float32", total: str = "float32", **changes: Any) -> Plan:
    precision = Precision.of(dtype, total, TARGET, 4)
    blocking = Blocking(rows=4, vectors=2, lanes=4, depth=precision.words(DEPTH))
    blocking = dataclasses.replace(blocking, **changes)
    return Plan(1, ROWS, COLUMNS, DEPTH, precision, TARGET.lanes(precision.word), blocking)


def _windows(buffer: Any, size: int) -> Operand:
    """Column ``j`` is the window of a sequence that begins at ``j``: a patch matrix."""
    return Operand(size, DEPTH, lambda depth, index: emit.load(buffer, [depth + index]))


def _product(plan: Plan, left: np.ndarray[Any, Any], sequence: np.ndarray[Any, Any]) -> Any:
    """A convolution in one dimension as a product, weights on the left and windows right."""
    import tvm

    result = np.zeros((ROWS, COLUMNS), plan.precision.total)
    parameters = [
        Argument(name, array.shape, str(array.dtype))
        for name, array in (("left", left), ("sequence", sequence), ("result", result))
    ]
    with emit.module() as made, emit.function("main", parameters) as (weights, data, output):
        multiply(
            plan,
            lambda batch: Operand.matrix(weights, [], "depth", ROWS, DEPTH),
            lambda batch: _windows(data, COLUMNS),
            lambda batch, row, column, value, lanes: emit.store(
                output, value, [row, column], lanes
            ),
        )
    tensors = [tvm.runtime.tensor(array) for array in (left, sequence, result)]
    compiled(made[0], TARGET.to_tvm())["main"](*tensors)
    return tensors[-1].numpy()


def _expected(left: np.ndarray[Any, Any], sequence: np.ndarray[Any, Any]) -> Any:
    windows = np.stack([sequence[at : at + DEPTH] for at in range(COLUMNS)], axis=1)
    return left.astype(np.float64) @ windows.astype(np.float64)


@pytest.mark.parametrize("pack_left", list(Packing))
@pytest.mark.parametrize("pack_right", [Packing.WHOLE, Packing.BLOCK])
@pytest.mark.parametrize("inner", list(Side))
def test_an_operand_may_be_a_function(pack_left: Packing, pack_right: Packing, inner: Side) -> None:
    plan = _plan(pack_left=pack_left, pack_right=pack_right, inner=inner, row_parts=2, depth=6)
    rng = np.random.default_rng(0)
    left = rng.random((ROWS, DEPTH), dtype=np.float32)
    sequence = rng.random(DEPTH + COLUMNS - 1, dtype=np.float32)
    found = _product(plan, left, sequence)
    np.testing.assert_allclose(found, _expected(left, sequence), rtol=1e-5)


def test_so_may_one_of_int8() -> None:
    plan = _plan("int8", "int32")
    rng = np.random.default_rng(0)
    left = rng.integers(-128, 128, (ROWS, DEPTH), dtype=np.int8)
    sequence = rng.integers(-128, 128, DEPTH + COLUMNS - 1, dtype=np.int8)
    np.testing.assert_array_equal(_product(plan, left, sequence), _expected(left, sequence))


def test_panels_hold_what_a_step_reads_side_by_side() -> None:
    import tvm

    plan = _plan()
    panels = plan.panels(Side.ROWS)
    left = np.arange(ROWS * DEPTH, dtype=np.float32).reshape(ROWS, DEPTH)
    parameters = [Argument("left", left.shape, "float32"), panels]
    with emit.module() as made, emit.function("main", parameters) as (weights, filled):
        pack(
            plan,
            Side.ROWS,
            lambda batch: Operand.matrix(weights, [], "depth", ROWS, DEPTH),
            filled,
        )
    tensors = [tvm.runtime.tensor(left), tvm.runtime.tensor(np.zeros(panels.shape, np.float32))]
    compiled(made[0], TARGET.to_tvm())["main"](*tensors)
    found = tensors[1].numpy()
    # Three tiles of four rows cover nine: the last one begins at row 5.
    for tile, start in enumerate((0, 4, 5)):
        np.testing.assert_array_equal(found[0, tile], left[start : start + 4].T.ravel())


@pytest.mark.parametrize(
    "mcpu, dtype, lanes, products",
    [
        ("znver4", "int8", 16, Products.DOT_INT8),
        ("znver4", "int8", 2, Products.MULTIPLY_ADD),
        ("znver4", "bfloat16", 8, Products.DOT_BFLOAT16),
        ("cascadelake", "bfloat16", 16, Products.MULTIPLY_ADD),
        ("alderlake", "int8", 8, Products.DOT_INT8),
        ("haswell", "int8", 8, Products.MULTIPLY_ADD),
        ("znver4", "float32", 16, Products.MULTIPLY_ADD),
    ],
)
def test_dot_products_where_the_target_has_them(
    mcpu: str, dtype: str, lanes: int, products: Products
) -> None:
    total = {"int8": "int32"}.get(dtype, "float32")
    precision = Precision.of(dtype, total, Target(mcpu=mcpu), lanes)
    assert precision.products is products
    assert precision.words(9) == {1: 9, 2: 5, 4: 3}[precision.group]
