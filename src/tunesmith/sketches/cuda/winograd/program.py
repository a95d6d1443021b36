"""The kernels of Winograd's algorithm as one program."""

from __future__ import annotations

from typing import Any

from tunesmith.sketches.cuda.tiled.schedule import schedule_nest
from tunesmith.sketches.cuda.winograd.sizes import DATA, PRODUCTS, WEIGHTS, Sizes
from tunesmith.sketches.cuda.winograd.transforms import (
    transform_data,
    transform_products,
    transform_weights,
)
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.hoisting import hoisted
from tunesmith.sketches.tir.schedules import schedule_of
from tunesmith.sketches.tir.weights import program_of
from tunesmith.sketches.winograd.tiling import DTYPE


def winograd_program(sizes: Sizes) -> Any:
    """The module: ``main``, and ``prepare`` where the weights are constant."""
    schedule = schedule_of(_unscheduled(sizes))
    schedule_nest(schedule, sizes.nest, sizes.tiling)
    return hoisted(schedule.mod) if sizes.operator.constant_weights else schedule.mod


def _unscheduled(sizes: Sizes) -> Any:
    """All stages, that of the products still a plain sum."""

    def main(buffers: list[Any]) -> None:
        data, weight, *results = buffers
        weights = emit.intermediate(WEIGHTS, sizes.weights_shape, DTYPE)
        transformed = emit.intermediate(DATA, sizes.data_shape, DTYPE)
        products = emit.intermediate(PRODUCTS, sizes.products_shape, DTYPE)
        transform_weights(sizes, weight, weights)
        transform_data(sizes, data, transformed)
        _multiply(sizes, weights, transformed, products)
        transform_products(sizes, products, results)

    return program_of(sizes.operator, main)


def _multiply(sizes: Sizes, weights: Any, data: Any, products: Any) -> None:
    from tvm.tirx.script.builder import ir

    spatial = sizes.products_shape
    with ir.grid(*spatial, sizes.split_ci) as (*loops, step), ir.sblock(PRODUCTS):
        b, i, j = map(ir.axis.spatial, spatial, loops)
        k = ir.axis.reduce(sizes.split_ci, step)
        ir.reads(weights[b, k, i], data[b, k, j])
        ir.writes(products[b, i, j])
        with ir.init():
            emit.store(products, emit.constant(0, DTYPE), [b, i, j])
        emit.store(products, products[b, i, j] + weights[b, k, i] * data[b, k, j], [b, i, j])
