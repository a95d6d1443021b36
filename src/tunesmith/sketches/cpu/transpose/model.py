"""How long the program of a plan takes, by the model of the machine."""

from __future__ import annotations

from tunesmith.operators import element_bits
from tunesmith.sketches.cpu.direct.model import tile_cycles
from tunesmith.sketches.cpu.direct.plan import Tile
from tunesmith.sketches.cpu.model.machine import ASKED, Copy, Machine
from tunesmith.sketches.cpu.transpose.plan import Group, TransposePlan

# Starting a task: its ranges, its memory.
_TASK_CYCLES = 200.0
# The loops over rows and over vectors of what is interleaved.
_ROW_CYCLES = 12.0
_VECTORS_CYCLES = 1.0
_LINE = 64
# Loads that take longer than this part of the multiply-adds delay these. Fitted (Zen 4).
_HIDDEN = 0.8
# The cost of a line that is not prefetched, from L1, L2, L3 or memory. Fitted (Zen 4).
_LINE_CYCLES = (0.0, 10.0, 20.0, 60.0)


def seconds(plan: TransposePlan, machine: Machine) -> float:
    """An estimate of a call, in seconds. Takes some tens of microseconds."""
    computing = moving = 0.0
    for group in plan.groups:
        if group.taps:
            tiles = plan.grid.pixel_tiles * group.phases
            computing += tiles * _tile_cycles(group, machine, plan.grid.tile)
            moving += tiles * _traffic(plan, group, machine)
    tiles = plan.grid.channel_tiles * plan.operator.n
    cycles = tiles * (machine.overlapped(computing, moving) + _interleaving(plan, machine))
    cycles += plan.tasks * _TASK_CYCLES
    regions, copying = 1, 0.0
    if plan.copy == "image":
        regions, copying = 2, plan.operator.n * _copy_cycles(plan, machine)
    if not plan.operator.constant_weights:
        regions += 1
        weights = plan.panel * plan.grid.channel_tiles
        size = _element_bytes(plan)
        copying += machine.copy_cycles(weights, size, Copy.STRIDED)
        copying += machine.stream_cycles(weights * size, weights * size)
    share = machine.parallel_share(plan.tasks)
    return machine.seconds(cycles * share + copying / machine.cores, regions)


def _tile_cycles(group: Group, machine: Machine, tile: Tile) -> float:
    """Of a register tile of a phase: multiply-adds do not hide all loads, and the fewer the more
    there are."""
    plan, core = group.plan, machine.core
    pixels = tile.rows * tile.columns
    computing = pixels * tile.channels / core.fmas
    if plan.vectorize == "channels":
        reading = tile.channels / core.loads + pixels / core.broadcasts
    else:
        reading = 2.0 * pixels / core.loads + tile.channels / core.broadcasts
    exposed = machine.overlapped(computing, reading) - max(computing, reading)
    exposed += max(0.0, reading - _HIDDEN * computing)
    return tile_cycles(plan, machine, tile) + plan.operator.reduction_length * exposed


def _traffic(plan: TransposePlan, group: Group, machine: Machine) -> float:
    """Cycles to move what a tile of a phase reads from the level that holds it."""
    op, grid, size = plan.operator, plan.grid, _element_bytes(plan)
    tile = grid.tile
    panel = float(size * op.ci * group.taps * grid.channel_tile)
    whole = float(size * plan.panel)
    rows = tile.rows + group.rows.taps - 1
    columns = tile.columns * grid.lanes_columns + group.columns.taps - 1
    band = float(size * op.ci * op.h * op.w) / plan.bands
    if plan.data == "blocked":
        window = float(rows * size * columns * op.ci)
        reading = machine.stream_cycles(window, panel + band)
    else:
        # A line or two of each row of each channel, which the hardware does not prefetch.
        # Neighbouring tiles share some.
        step = tile.columns * grid.lanes_columns if grid.column_tiles > 1 else columns
        lines = rows * op.ci * (size * step / _LINE + (0.0 if grid.column_tiles > 1 else 0.5))
        window = lines * _LINE
        reading = lines * _LINE_CYCLES[machine.level_of(panel + band)]
    # Within a band a phase's weights stay in cache; the next band loads them again.
    again = max(1.0, grid.pixel_tiles / plan.bands)
    between = whole + band if plan.order == "weights" else whole * grid.channel_tiles
    asked = ASKED if plan.prefetch else 1.0
    cycles = machine.stream_cycles(panel, panel + window) * (1 - 1 / again)
    if plan.order == "weights":
        bands = plan.bands * again
        cycles += machine.stream_cycles(panel, between) * (1 / again - 1 / bands)
        cycles += machine.stream_cycles(panel, whole * grid.channel_tiles) / bands
    else:
        cycles += machine.stream_cycles(panel, between) / again
    return asked * cycles + reading


def _interleaving(plan: TransposePlan, machine: Machine) -> float:
    """Reading all phases of a tile of channels again, and writing the output."""
    grid, columns, core = plan.grid, plan.columns, machine.core
    rows = grid.channel_tile * plan.rows.output
    lanes = min(plan.lanes, columns.steps)
    vectors = -(-columns.steps // lanes) * columns.stride
    shuffles = 2.0 if columns.stride > 1 else 0.0
    each = max(1 / core.loads, 1 / core.stores, shuffles / core.shuffles) + _VECTORS_CYCLES
    size = _element_bytes(plan)
    held = size * plan.phases * grid.channel_tile * plan.band_rows * columns.steps
    moved = size * plan.phases * grid.channel_tile * plan.rows.steps * columns.steps
    return rows * (_ROW_CYCLES + vectors * each) + 2 * machine.stream_cycles(moved, held)


def _copy_cycles(plan: TransposePlan, machine: Machine) -> float:
    """Padding one image."""
    source = plan.source
    elements = plan.operator.ci * source.stored_rows * source.pitch
    how = Copy.STRIDED if source.stored_block > 1 else Copy.CONTIGUOUS
    cycles = machine.copy_cycles(elements, _element_bytes(plan), how)
    return cycles + 8.0 * source.stored_rows * plan.operator.ci / source.stored_block


def _element_bytes(plan: TransposePlan) -> int:
    """Of weights and data as the loops read them, in the type of the sums."""
    return element_bits(plan.operator.accumulate_dtype) // 8
