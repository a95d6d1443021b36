"""How long the program of a plan takes, by the model of the machine."""

from __future__ import annotations

import math

from tunesmith.operators import element_bits
from tunesmith.sketches.cpu.direct.plan import Plan, Tile
from tunesmith.sketches.cpu.direct.transpose import pieces
from tunesmith.sketches.cpu.model.machine import ASKED, Copy, Machine

# What a tile costs beside its products: zeros, addresses, leaving the loops.
_TILE_CYCLES = 30.0
# The address of a pixel that may be in another row than its neighbour.
_PLACE_CYCLES = 3.0
# The branch of a step of the innermost loop that is not unrolled.
_LOOP_CYCLES = 1.0
# Starting a task: its ranges, its memory.
_TASK_CYCLES = 200.0
_LINE = 64


def seconds(plan: Plan, machine: Machine) -> float:
    """An estimate of a call, in seconds. Takes some microseconds."""
    computing, moving = _tiles(plan, machine)
    cycles = machine.overlapped(computing, moving) + plan.tasks * _TASK_CYCLES
    regions, copying = 1, 0.0
    if plan.copy == "image":
        regions, copying = 2, plan.images * _copy_cycles(plan, machine, plan.stored_rows)
    elif plan.copy == "rows":
        kept = plan.rows_for(plan.rows_per_task)
        cycles += plan.tasks * _copy_cycles(plan, machine, kept)
    if not plan.operator.constant_weights:
        regions += 1
        elements = plan.operator.groups * plan.channel_tiles * _panel(plan)
        copying += machine.copy_cycles(elements, _element_bytes(plan), Copy.STRIDED)
    share = machine.parallel_share(plan.tasks)
    return machine.seconds(cycles * share + copying / machine.cores, regions)


def _panel(plan: Plan) -> int:
    return plan.operator.reduction_length * plan.channel_tile


def _tiles(plan: Plan, machine: Machine) -> tuple[float, float]:
    """Cycles of computing all tiles, and of moving what they read."""
    computing = moving = 0.0
    tile = plan.tile
    for rows, row_count in _sizes(plan.row_tiles, tile.rows, plan.tail_rows):
        for columns, column_count in _sizes(plan.column_tiles, tile.columns, plan.tail_columns):
            shape = Tile(rows, columns, tile.channels)
            count = row_count * column_count * plan.channel_tiles * plan.images
            computing += count * tile_cycles(plan, machine, shape)
            moving += count * _traffic(plan, machine, shape)
    return computing, moving


def _sizes(tiles: int, size: int, tail: int) -> list[tuple[int, int]]:
    """Sizes of the tiles of an axis, and how many there are of each."""
    return [(size, tiles)] if tail == 0 else [(size, tiles - 1), (tail, 1)]


def tile_cycles(plan: Plan, machine: Machine, tile: Tile) -> float:
    """Cycles of computing a register tile and storing it."""
    sums, pixels = tile.rows * tile.columns * tile.channels, tile.rows * tile.columns
    if plan.vectorize == "channels":
        loads, broadcasts = float(tile.channels), float(pixels)
    else:
        # A vector that is not at a multiple of its size takes two lines.
        aligned = plan.pointwise and plan.columns % plan.unit == 0
        loads, broadcasts = pixels * (1.0 if aligned else 2.0), float(tile.channels)
    held = min(loads, broadcasts)
    if plan.prefetch:
        body = plan.steps * plan.channel_tile * _element_bytes(plan)
        loads += math.ceil(body / _LINE) / plan.steps
    step = machine.register_tile_cycles(
        sums, loads, broadcasts, accumulators=sums, registers=sums + held + 1
    )
    if plan.steps < 4:
        step += _LOOP_CYCLES / plan.steps
    placing = 0.0
    if plan.flat and not plan.contiguous:
        # Each pixel has an address of its own, which each tap moves.
        step += pixels / plan.steps / machine.core.issue
        placing = _PLACE_CYCLES * pixels
    writing = _write_cycles(plan, machine, tile)
    return plan.operator.reduction_length * step + writing + placing + _TILE_CYCLES


def _write_cycles(plan: Plan, machine: Machine, tile: Tile) -> float:
    """Storing a tile, with its transposition where it takes one."""
    sums = tile.rows * tile.columns * tile.channels
    if (plan.vectorize == "channels") == (plan.operator.layout == "NHWC"):
        return sums / machine.core.stores
    length = tile.columns if plan.vectorize == "channels" else tile.channels
    shuffles = stores = 0.0
    for _, count in pieces(length, plan.unit):
        shuffles += count * math.log2(count)
        stores += plan.unit
    blocks = sums / length
    return blocks * (shuffles / machine.core.shuffles + stores / machine.core.stores)


def _traffic(plan: Plan, machine: Machine, tile: Tile) -> float:
    """Cycles to move a tile's weights and data from the level that holds them."""
    size = _element_bytes(plan)
    panel, window = float(size * _panel(plan)), _window_bytes(plan, tile)
    all_weights = panel * plan.channel_tiles
    image = float(size * plan.channels_in * plan.operator.h * plan.operator.w)
    weights, data = all_weights / plan.channel_tasks, image / plan.pixel_tasks
    asked = ASKED if plan.prefetch else 1.0
    channel_tiles = plan.channel_tiles / plan.channel_tasks
    pixel_tiles = plan.pixel_tiles / plan.pixel_tasks
    if plan.order == "weights":
        # The panel stays, the image passes by.
        first = machine.stream_cycles(panel, all_weights) / pixel_tiles
        again = machine.stream_cycles(panel, panel + window) * (1 - 1 / pixel_tiles)
        return asked * (first + again) + machine.stream_cycles(window, panel + data)
    first = machine.stream_cycles(window, image) / channel_tiles
    again = machine.stream_cycles(window, window + panel) * (1 - 1 / channel_tiles)
    return first + again + asked * machine.stream_cycles(panel, weights + window)


def _window_bytes(plan: Plan, tile: Tile) -> float:
    """Of the lines that hold what a tile reads."""
    rows = (tile.rows - 1) * (plan.operator.stride[0] // plan.row_step) + plan.reach
    step = plan.operator.stride[1] // plan.column_step
    columns = (tile.columns * plan.lanes_columns - 1) * step * plan.phases
    columns += plan.operator.dilation[1] * (plan.operator.kernel[1] - 1) + 1
    size = _element_bytes(plan)
    side_by_side = plan.stored_block if plan.copy != "none" else 1
    if plan.copy == "none" and plan.operator.layout == "NHWC":
        side_by_side = plan.operator.ci
    if side_by_side > 1:
        return float(rows * columns * size * plan.channels_in)
    return float(rows * (size * columns + _LINE / 2) * plan.channels_in)


def _element_bytes(plan: Plan) -> int:
    """Of weights and data as the loops read them, in the type of the sums."""
    return element_bits(plan.operator.accumulate_dtype) // 8


def _copy_cycles(plan: Plan, machine: Machine, rows: int) -> float:
    """Copying ``rows`` rows of an image."""
    elements = plan.channels_in * rows * plan.pitch
    along_channels = plan.operator.layout == "NHWC"
    turned = along_channels != (plan.stored_block > 1)
    how = Copy.STRIDED if turned or plan.column_step > 1 else Copy.CONTIGUOUS
    cycles = machine.copy_cycles(elements, _element_bytes(plan), how)
    # Each row of each channel has borders of its own.
    return cycles + 8.0 * rows * plan.channels_in / (plan.stored_block if not turned else 8)
