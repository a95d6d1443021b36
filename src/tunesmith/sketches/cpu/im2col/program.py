"""The program of a convolution: planes where they are needed, then the product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.sketches.cpu.gemm import Packing, Plan, Side, multiply, pack
from tunesmith.sketches.cpu.im2col.convolution import Convolution
from tunesmith.sketches.cpu.im2col.copying import fill_planes
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.vectors import bits_of
from tunesmith.sketches.tir.weights import WEIGHT, program_with_weights


def convolution_program(convolution: Convolution, plan: Plan) -> Any:
    """The module of a product; constant weights that it packs are packed by ``prepare``."""
    operator, side = convolution.operator, convolution.weight_side
    blocking = plan.blocking
    packing = blocking.pack_left if side is Side.ROWS else blocking.pack_right
    # One set of panels serves all images.
    once = Plan(1, plan.rows, plan.columns, plan.depth, plan.precision, plan.panel_lanes, blocking)

    def prepare(weight: Any, panels: Any) -> None:
        pack(once, side, convolution.weights(weight), panels)

    if packing is Packing.WHOLE:
        return program_with_weights(
            operator,
            once.panels(side),
            prepare,
            lambda buffers: _main(convolution, plan, buffers, packed=True),
        )
    with (
        emit.module() as made,
        emit.function("main", [*operator.arguments, operator.result]) as buffers,
    ):
        _main(convolution, plan, buffers, packed=False)
    return made[0]


def _main(convolution: Convolution, plan: Plan, buffers: Sequence[Any], *, packed: bool) -> None:
    """The body of ``main``; ``packed``: panels are in the place of the weights."""
    planes = convolution.planes
    laid_out = bits_of(emit.flat(buffers[0]))
    if not planes.in_place:
        laid_out = fill_planes(planes, laid_out, plan.panel_lanes)
    offsets = convolution.offsets()
    patches = convolution.patches(laid_out, offsets, plan)
    panels = buffers[WEIGHT] if packed else None
    # Nobody reads weights whose panels are there.
    weights = convolution.weights(buffers[WEIGHT])
    put = convolution.put(buffers)
    if convolution.along_pixels:
        multiply(plan, weights, patches, put, left_panels=panels)
    else:
        multiply(plan, patches, weights, put, right_panels=panels)
