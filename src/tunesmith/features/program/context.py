"""The loop context of a program ("Learning to Optimize Tensor Programs", appendix A.2, table 2).

For each loop of the main chain: its length and annotation, the products of the lengths of the
loops outside and inside, and for each buffer how many elements are touched, how often each is
reused, and the stride of the loop.

Differences from the paper: it looks at the longest chain of loops, here it is the one with the most
accesses, as programs have several stages. Programs may contain straight code, so what is divided by
the touched elements is not the number of steps but that of the accesses; in a plain loop nest both
are equal. Lengths of inner loops include that of the loop itself, so that the innermost loop says
something of its own accesses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tunesmith.compiler.loop_nest import Access, LoopNest

Array = npt.NDArray[np.float64]

ANNOTATIONS = (
    "serial",
    "parallel",
    "vectorized",
    "unrolled",
    "vthread",
    *(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz"),
)
"""The kinds of loops; any other one is none of these."""


@dataclass(frozen=True)
class LoopContext:
    """The context of the main chain of loops, outermost first.

    ``lengths``, ``top_down`` and ``bottom_up`` have shape (loops,), ``annotations`` (loops, kinds),
    ``touched``, ``reuse`` and ``strides`` (loops, buffers). A buffer that a loop does not touch has
    zeros. ``buffers`` are numbers of the loop nest's: results first, then other parameters, then
    temporary ones, each the largest first.
    """

    lengths: Array
    annotations: Array
    top_down: Array
    bottom_up: Array
    buffers: Sequence[int]
    touched: Array
    reuse: Array
    strides: Array


def main_chain(nest: LoopNest) -> tuple[int, ...]:
    """The loops around the most accesses, outermost first; among equal ones the longest chain."""
    totals: Counter[tuple[int, ...]] = Counter()
    for access in nest.accesses:
        totals[access.path] += _steps(nest, access.path) * access.count * access.lanes
    return max(totals, key=lambda path: (totals[path], len(path)), default=())


def loop_context(nest: LoopNest) -> LoopContext:
    """The context of a program's main chain."""
    chain = main_chain(nest)
    lengths = np.array([nest.loops[number].extent for number in chain], dtype=np.float64)
    kinds = [nest.loops[number].annotation for number in chain]
    buffers = _ordered_buffers(nest, chain)
    touched, totals, strides = (np.zeros((len(chain), len(buffers))) for _ in range(3))
    mains = np.zeros_like(totals)  # of the access with the most, whose stride counts
    places = {number: place for place, number in enumerate(chain)}
    columns = {buffer: column for column, buffer in enumerate(buffers)}
    for access in nest.accesses:
        if access.buffer not in columns:
            continue
        for around in _accesses_by_loop(nest, access):
            if around.loop not in places:
                continue
            at = places[around.loop], columns[access.buffer]
            totals[at] += around.accesses
            touched[at] = max(touched[at], around.touched)
            if around.accesses > mains[at]:
                mains[at], strides[at] = around.accesses, around.stride
    whole = np.cumprod(lengths)
    return LoopContext(
        lengths=lengths,
        annotations=np.array(
            [[kind == each for each in ANNOTATIONS] for kind in kinds], np.float64
        ).reshape(len(chain), len(ANNOTATIONS)),
        top_down=whole / lengths,
        bottom_up=np.cumprod(lengths[::-1])[::-1].astype(np.float64),
        buffers=buffers,
        touched=touched,
        reuse=np.divide(totals, touched, out=np.zeros_like(totals), where=touched > 0.0),
        strides=strides,
    )


def _ordered_buffers(nest: LoopNest, chain: Sequence[int]) -> list[int]:
    inside = [access for access in nest.accesses if not chain or chain[0] in access.path]
    stored = {access.buffer for access in inside if access.is_store}

    def rank(number: int) -> tuple[bool, bool, int, int]:
        buffer = nest.buffers[number]
        is_result = buffer.is_parameter and number in stored
        return not is_result, not buffer.is_parameter, -buffer.elements, number

    return sorted({access.buffer for access in inside}, key=rank)


def _steps(nest: LoopNest, path: Sequence[int]) -> int:
    return math.prod(nest.loops[number].extent for number in path)


class _LoopAccesses(NamedTuple):
    """What all steps of a loop around an access do together.

    They load or store ``accesses`` elements and touch ``touched`` different ones: those of the box
    around them, if they are not fewer. A step moves the place by ``stride`` elements.
    """

    loop: int
    accesses: int
    touched: int
    stride: int


def _accesses_by_loop(nest: LoopNest, access: Access) -> Iterator[_LoopAccesses]:
    """What the loops around an access do, innermost first."""
    elements = nest.buffers[access.buffer].elements
    accesses, widths = access.count * access.lanes, access.widths.tolist()
    loops = zip(access.path, access.strides, access.spans.tolist(), strict=True)
    for loop, stride, spans in reversed([*loops]):
        accesses *= nest.loops[loop].extent
        widths = [width + span for width, span in zip(widths, spans, strict=True)]
        touched = max(1, min(math.prod(widths), accesses, elements))
        yield _LoopAccesses(loop, accesses, touched, stride)
