"""The seconds of rows that are shared among blocks, by the model of the GPU."""

from __future__ import annotations

import math

from tunesmith.operators import Operator
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, bytes_of_tensors, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.rows.tiling import COMPUTED_AGAIN, REGISTERS, SHARED, RowTiling, kept
from tunesmith.sketches.tir.row_stages import RowStages

# Instructions for an element of a stage, of which some functions take many, and for its load.
_ELEMENT, _LOAD = 6, 3
# Cycles of a shuffle, of meeting the other warps of a row, and until a row's first data are there.
_SHUFFLE_CYCLES, _MEETING_CYCLES, _L2_CYCLES = 30, 120, 300
_OTHER_REGISTERS = 24
_WORD, _SECTOR = 4, 32


def row_seconds(operator: Operator, stages: RowStages, tiling: RowTiling, gpu: Gpu) -> float:
    """About how long a call takes."""
    use = tiling.use(operator, stages)
    blocks, rows = tiling.rows
    sizes = kept(operator, stages)
    own = math.ceil(stages.length / (tiling.threads * tiling.vector)) * tiling.vector
    warps = math.ceil(tiling.threads * rows / WARP)
    # What is not kept is loaded, or computed, for each reduction and for the output.
    again = [place == COMPUTED_AGAIN for place in tiling.places.values()]
    passes = len(stages.reductions) + 1
    computed = sum(passes if each else 1 for each in again) + passes
    in_shared = sum(
        own * sizes[name] / _WORD * passes
        for name, place in tiling.places.items()
        if place == SHARED
    )
    reads = passes if tiling.places[operator.arguments[0].name] == COMPUTED_AGAIN else 1
    data = next(iter(sizes.values()))
    # Neighbouring threads share sectors, so only few threads waste parts of them.
    wasted = max(1.0, _SECTOR / (tiling.threads * tiling.vector * data))
    in_a_warp = math.ceil(math.log2(min(tiling.threads, WARP)))
    meeting = _MEETING_CYCLES if tiling.threads > WARP else 0
    registers = own * sum(size for name, size in sizes.items() if tiling.places[name] == REGISTERS)
    work = BlockWork(
        threads=tiling.threads * rows,
        registers=registers // _WORD + _OTHER_REGISTERS,
        shared_bytes=use.shared_bytes,
        steps=1,
        arithmetic=warps * WARP * own * computed / gpu.lanes,
        shared=warps * in_shared,
        instructions=warps * own * (computed * _ELEMENT + (reads + 1) * _LOAD / tiling.vector),
        bytes=rows * stages.length * data * (reads + 1) * wasted,
        waiting=reads * _L2_CYCLES
        + len(stages.reductions) * (in_a_warp * _SHUFFLE_CYCLES + meeting),
    )
    return seconds(work, blocks, gpu, bytes_of_tensors(operator))
