"""Weights in the order in which the kernel reads them."""

from __future__ import annotations

from typing import Any

from tunesmith.operators import Argument
from tunesmith.sketches.cpu.direct.plan import Plan
from tunesmith.sketches.cpu.direct.transpose import transposed
from tunesmith.sketches.tir import emit


def packed(plan: Plan) -> Argument:
    """Tile of output channels (they overlap where they do not divide the channels), then block of
    input channels, row and column of the window, input channel, and output channel in the tile."""
    op = plan.operator
    shape = (
        op.groups * plan.channel_tiles,
        plan.channels_in // plan.block,
        *op.kernel,
        plan.block,
        plan.channel_tile,
    )
    return Argument("packed_weight", shape, op.accumulate_dtype)


def panel(plan: Plan) -> int:
    """Elements of the weights of a tile of output channels."""
    return plan.operator.reduction_length * plan.channel_tile


def pack(plan: Plan, weight: Any, target: Any) -> None:
    """Fill the packed weights, seen as flat memory, from the operator's."""
    groups, tiles = plan.operator.groups, plan.channel_tiles
    with emit.parallel(groups * tiles, "panel") as step:
        start = step // tiles * plan.channels_out
        start = start + emit.tile_start(step % tiles, plan.channel_tile, plan.channels_out)
        start = emit.bind("output_channel", start)
        base = emit.bind("panel_start", step * panel(plan))
        if plan.operator.layout == "NCHW":
            _pack_rows(plan, weight, target, start, base)
        else:
            _pack_columns(plan, weight, target, start, base)


def _pack_columns(plan: Plan, weight: Any, target: Any, start: Any, base: Any) -> None:
    """From weights whose innermost axis is that of the output channels."""
    op, width = plan.operator, plan.channel_tile
    lanes = min(emit.power_of_two(width), plan.lanes)
    with emit.serial(op.reduction_length, "term") as term:
        place = emit.bind("place", base + _place(plan, _nhwc_term(plan, term)) * width)
        with emit.serial(emit.tile_count(width, lanes), "lane") as tile:
            channel = emit.tile_start(tile, lanes, width)
            value = emit.load(weight, [term * op.co + start + channel], lanes)
            value = value.astype(emit.vector_type(str(target.dtype), lanes))
            emit.store(target, value, [place + channel], lanes)


def _pack_rows(plan: Plan, weight: Any, target: Any, start: Any, base: Any) -> None:
    """From weights whose innermost axis is that of the terms of a sum: squares are transposed."""
    terms, width = plan.operator.reduction_length, plan.channel_tile
    side = min(emit.power_of_two(terms), emit.power_of_two(width), plan.lanes)
    with (
        emit.serial(emit.tile_count(terms, side), "terms") as term_tile,
        emit.serial(emit.tile_count(width, side), "lanes") as channel_tile,
    ):
        term = emit.bind("term", emit.tile_start(term_tile, side, terms))
        channel = emit.bind("channel", emit.tile_start(channel_tile, side, width))
        first = emit.bind("first", (start + channel) * terms + term)
        kind = emit.vector_type(str(target.dtype), side)
        rows = [emit.load(weight, [first + row * terms], side).astype(kind) for row in range(side)]
        for column, value in enumerate(transposed(rows, side)):
            place = base + _place(plan, _nchw_term(plan, term + column)) * width + channel
            emit.store(target, value, [place], side)


def _nchw_term(plan: Plan, term: Any) -> tuple[Any, Any, Any]:
    """Input channel, row and column of the window, of the term of that number."""
    high, wide = plan.operator.kernel
    return term // (high * wide), term // wide % high, term % wide


def _nhwc_term(plan: Plan, term: Any) -> tuple[Any, Any, Any]:
    wide, channels = plan.operator.kernel[1], plan.channels_in
    return term % channels, term // (channels * wide), term // channels % wide


def _place(plan: Plan, term: tuple[Any, Any, Any]) -> Any:
    """Where a term is in the kernel's order."""
    (channel, row, column), (high, wide), block = term, plan.operator.kernel, plan.block
    return ((channel // block * high + row) * wide + column) * block + channel % block
