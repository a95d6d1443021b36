"""The program of a convolution: planes where they are needed, then the product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tunesmith.sketches.cpu.gemm import Packing, Plan, multiply, pack
from tunesmith.sketches.cpu.im2col.convolution import Convolution
from tunesmith.sketches.cpu.im2col.copying import fill_planes
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.vectors import bits_of
from tunesmith.sketches.tir.weights import WEIGHT, program_of, program_with_weights


def convolution_program(convolution: Convolution, plan: Plan) -> Any:
    """The module of a product; constant weights that it packs are packed by ``prepare``."""
    operator, side = convolution.operator, convolution.weight_side
    once = replace(plan, batch=1)  # one set of panels serves all images

    def prepare(weight: Any, panels: Any) -> None:
        pack(once, side, convolution.weights(weight), panels)

    if plan.directions[side].packing is Packing.WHOLE:
        return program_with_weights(
            operator,
            once.panels(side),
            prepare,
            lambda buffers: _main(convolution, plan, buffers, packed=True),
        )
    return program_of(operator, lambda buffers: _main(convolution, plan, buffers, packed=False))


def _main(convolution: Convolution, plan: Plan, buffers: Sequence[Any], *, packed: bool) -> None:
    """The body of ``main``; ``packed``: panels are in the place of the weights."""
    planes = convolution.planes
    laid_out = bits_of(emit.flat(buffers[0]))
    if not planes.in_place:
        laid_out = fill_planes(planes, laid_out, plan.panel_lanes)
    offsets = convolution.offsets()
    patches = convolution.patches(laid_out, offsets, plan)
    panels = buffers[WEIGHT] if packed else None
    # Weights that are packed are not read here.
    weights = convolution.weights(buffers[WEIGHT])
    put = convolution.put(buffers)
    if convolution.along_pixels:
        multiply(plan, weights, patches, put, left_panels=panels)
    else:
        multiply(plan, patches, weights, put, right_panels=panels)
