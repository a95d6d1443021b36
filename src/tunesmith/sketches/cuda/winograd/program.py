"""The kernels of Winograd's algorithm as one program."""

from __future__ import annotations

from typing import Any

from tunesmith.operators import Conv2d
from tunesmith.sketches import emit
from tunesmith.sketches.cuda.schedule import schedule_nest
from tunesmith.sketches.cuda.winograd.sizes import DATA, PRODUCTS, WEIGHTS, Sizes
from tunesmith.sketches.cuda.winograd.transforms import (
    transform_data,
    transform_products,
    transform_weights,
)
from tunesmith.sketches.hoisting import hoisted
from tunesmith.sketches.weights import has_constant_weights
from tunesmith.sketches.winograd.tiling import DTYPE


def winograd_program(sizes: Sizes) -> Any:
    """The module: ``main``, and ``prepare`` where the weights are constant."""
    from tvm.s_tir import Schedule

    schedule = Schedule(_unscheduled(sizes))
    schedule_nest(schedule, sizes.nest, sizes.tiling)
    return hoisted(schedule.mod) if has_constant_weights(sizes.operator) else schedule.mod


def _unscheduled(sizes: Sizes) -> Any:
    """All stages, that of the products still a plain sum."""
    operator: Conv2d = sizes.operator
    parameters = [*operator.arguments, operator.result]
    with emit.module() as made, emit.function("main", parameters) as buffers:
        data, weight, *results = buffers
        weights = emit.intermediate(WEIGHTS, sizes.weights_shape, DTYPE)
        transformed = emit.intermediate(DATA, sizes.data_shape, DTYPE)
        products = emit.intermediate(PRODUCTS, sizes.products_shape, DTYPE)
        transform_weights(sizes, weight, weights)
        transform_data(sizes, data, transformed)
        _multiply(sizes, weights, transformed, products)
        transform_products(sizes, products, results)
    return made[0]


def _multiply(sizes: Sizes, weights: Any, data: Any, products: Any) -> None:
    from tvm.tirx.script.builder import ir

    batch, co, tiles = sizes.products_shape
    with ir.grid(batch, co, tiles, sizes.split_ci) as loops, ir.sblock(PRODUCTS):
        kinds = (ir.axis.spatial,) * 3 + (ir.axis.reduce,)
        extents = (batch, co, tiles, sizes.split_ci)
        b, i, j, k = (
            kind(extent, loop) for kind, extent, loop in zip(kinds, extents, loops, strict=True)
        )
        ir.reads(weights[b, k, i], data[b, k, j])
        ir.writes(products[b, i, j])
        with ir.init():
            emit.store(products, emit.constant(0, DTYPE), [b, i, j])
        emit.store(products, products[b, i, j] + weights[b, k, i] * data[b, k, j], [b, i, j])
