"""How many bytes a nest of loops brings into each cache, and the cycles that takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul

from tunesmith.sketches.cpu.model.machine import Machine

# The cost of a line that the hardware does not prefetch, relative to one that it does: strided
# reads of 32 or 64 rows in two sets of L1 took 3 to 7 cycles an element (Zen 4).
_UNFORESEEN = 1.3

Footprints = Sequence[Sequence[float]]
"""``[t][p]``: the bytes of tensor ``t`` that the loops from position ``p`` inwards touch together.

Position 0 is the whole nest, and there is one more position than loops. The bytes do not change at
a loop that does not move the tensor."""


def bytes_into(
    capacity: float, trips: Sequence[float], footprints: Footprints, needed: Sequence[float]
) -> float:
    """Bytes that come into a cache of that capacity while the loops run, called over and over.

    ``trips`` are the loops' from the outermost to the innermost; ``needed`` is what the footprints
    of each position need of the cache together.

    What the loops inside of a position touch stays in the cache if it fits. A tensor stays there
    also while the next loops outside do not move it. The first loop that does loads all that it
    touches, in lines that neighbouring iterations share; each further one loads that again.
    What fits as a whole is there from the call before. Where not even a single step fits, each line
    is waited for.
    """
    position = next((p for p, total in enumerate(needed) if total <= capacity), None)
    if position == 0:
        return 0.0
    times = list(accumulate(trips, mul, initial=1.0))
    if position is None:
        return _UNFORESEEN * sum(footprint[-1] for footprint in footprints) * times[-1]
    moved = 0.0
    for footprint in footprints:
        loop = position - 1
        while loop > 0 and footprint[loop] == footprint[position]:
            loop -= 1
        moved += footprint[loop] * times[loop]
    return moved


def movement_cycles(
    machine: Machine,
    trips: Sequence[float],
    footprints: Footprints,
    crowded: Footprints | None = None,
) -> float:
    """Cycles in which one core's caches move what its loops touch; see ``bytes_into``.

    ``crowded`` is what each footprint needs of L1 where it falls into some of its sets alone
    (``Machine.crowded``). L2 and L3 have many sets, and memory's pages are scattered over them.
    """
    together = [sum(column) for column in zip(*footprints, strict=True)]
    l1, l2, l3 = machine.usable_bytes
    ways = l1 / machine.caches.l1  # of a set, all may hold a tensor's lines
    crowds = [max(column) * ways for column in zip(*(crowded or footprints), strict=True)]
    into_l1 = bytes_into(l1, trips, footprints, list(map(max, together, crowds)))
    into_l2 = bytes_into(l2, trips, footprints, together)
    into_l3 = bytes_into(l3, trips, footprints, together)
    return machine.traffic_cycles(
        l2=max(0.0, into_l1 - into_l2), l3=max(0.0, into_l2 - into_l3), memory=into_l3
    )
