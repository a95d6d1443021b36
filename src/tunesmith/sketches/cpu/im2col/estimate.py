"""How long a convolution takes as a product: planes, the product, and strided stores."""

from __future__ import annotations

from tunesmith.operators import element_bits
from tunesmith.sketches.cpu.gemm import ALONG_DEPTH, ALONG_SIZE, Plan
from tunesmith.sketches.cpu.gemm.estimate import Traffic, product_seconds
from tunesmith.sketches.cpu.im2col.convolution import Convolution
from tunesmith.sketches.cpu.model.machine import Copy, Machine
from tunesmith.target import Target

# Cycles of a plane's row beside its elements.
_LINE_CYCLES = 20.0


def estimated_seconds(convolution: Convolution, plan: Plan, target: Target) -> float:
    """Seconds of a call."""
    machine = Machine.of(target)
    operator, planes = convolution.operator, convolution.planes
    itemsize = element_bits(operator.dtype) // 8
    weights = Traffic.of_matrix(
        ALONG_SIZE if planes.channels_last else ALONG_DEPTH,
        operator.co,
        operator.reduction_length,
        operator.dtype,
        ready=operator.constant_weights,
    )
    patches = Traffic(
        ALONG_DEPTH if planes.channels_last else ALONG_SIZE,
        itemsize,
        itemsize * (planes.step if planes.channels_last else planes.channel // planes.taps),
    )
    sides = (weights, patches) if convolution.along_pixels else (patches, weights)
    seconds = product_seconds(plan, machine, *sides)
    if not convolution.along_pixels and not planes.channels_last:
        scattered = machine.copy_cycles(operator.result.elements, itemsize, Copy.STRIDED)
        seconds += scattered * machine.parallel_share(plan.tasks) / machine.hertz
    if not planes.in_place:
        seconds += _planes_seconds(convolution, machine, itemsize)
    return seconds


def _planes_seconds(convolution: Convolution, machine: Machine, itemsize: int) -> float:
    planes = convolution.planes
    elements = planes.images * planes.image
    lines = elements / (planes.columns.length * planes.step)
    bytes_moved = 2.0 * elements * itemsize / machine.cores
    cycles = machine.copy_cycles(elements, itemsize) + lines * _LINE_CYCLES
    moving = machine.stream_cycles(bytes_moved, bytes_moved)
    # One more parallel region; the call itself is counted with the product.
    alone = machine.seconds(machine.overlapped(cycles / machine.cores, moving))
    return alone - machine.seconds(0, regions=0)
