"""What is read off a tiling, by hand and by what nvcc makes of its program."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.compiled import needs_nvcc, ptx_of
from tunesmith.cuda.compiler import compile_cuda
from tunesmith.cuda.lowering import cuda_source
from tunesmith.operators import Operator, conv2d, depthwise_conv2d, matmul
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, bytes_of_tensors
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.tiled.block_tiling import Tiling
from tunesmith.sketches.cuda.tiled.reads import reads_of
from tunesmith.sketches.cuda.tiled.schedule import schedule_nest
from tunesmith.sketches.cuda.tiled.work import (
    tiled_seconds,
    unrolled_part,
    work_of_tiles,
)
from tunesmith.sketches.tir.loop_nest import LoopNest, lower, main_loop_nest
from tunesmith.sketches.tir.schedules import schedule_of
from tunesmith.target import Target

TARGET = Target("cuda", arch="sm_90")
PRODUCT = matmul(m=2048, n=2048, k=2048)
# 128x64 a block, 8x4 a thread, 256 threads; 8 of each sum a step.
TILING = Tiling(
    spatial={"i": (16, 1, 16, 8), "j": (32, 1, 16, 4)},
    reduction={"k": (256, 8)},
    places={"i": "x", "j": "x"},
    staged=frozenset({"data", "weight"}),
    vector=4,
    auto_unroll_max_step=512,
)

CONV = conv2d(ci=64, h=28, w=28, co=64, kernel=3, padding=1)
WINDOWS = Tiling(
    spatial={"n": (1, 1, 1, 1), "f": (4, 1, 8, 2), "y": (14, 1, 2, 1), "x": (1, 1, 28, 1)},
    reduction={"rc": (16, 4), "ry": (1, 3), "rx": (1, 3)},
    places={"n": "z", "f": "z", "y": "y", "x": "x"},
    staged=frozenset({"pad", "weight"}),
    auto_unroll_max_step=512,
)


def nest_of(operator: Operator) -> LoopNest:
    nest = main_loop_nest(operator)
    assert nest is not None
    return nest


def gpu() -> Gpu:
    known = Gpu.of(TARGET)
    assert known is not None
    return known


def work(operator: Operator, tiling: Tiling) -> BlockWork:
    return work_of_tiles(operator, nest_of(operator), tiling, gpu())


def estimate(**changes: Any) -> float:
    tiling = replace(TILING, **changes)
    return tiled_seconds(PRODUCT, nest_of(PRODUCT), tiling, gpu(), bytes_of_tensors(PRODUCT))


# -- by hand --------------------------------------------------------------------------------------


def test_a_product() -> None:
    block = work(PRODUCT, TILING)
    assert (block.threads, block.steps) == (256, 256)
    assert block.shared_bytes == 8 * (128 + 64) * 4
    assert block.arithmetic == 128 * 64 * 8 / 128
    # In whole vectors: 8 rows of 8, and 8 rows of 4. Of 512 bytes to a warp, however much of that
    # is the same, a quarter has a turn.
    reading = 8 * (8 * 8 / 4 + 8 * 4 / 4) * 4
    assert block.shared == reading + 8 * (128 * 8 + 64 * 8) / 256
    assert block.bytes == 128 * 32 + 8 * 64 * 4


def test_reads_of_a_product() -> None:
    data, weight = (reads_of(TILING, access, 4, {"k": 8}) for access in nest_of(PRODUCT).inputs)
    assert (data.elements, data.factors, data.loads) == (64, 8, 16)
    assert (weight.elements, weight.factors, weight.loads) == (32, 4, 8)
    assert (data.wavefronts, weight.wavefronts) == (4, 4)


def test_memory_is_read_in_whole_sectors() -> None:
    """Four rows of 30 are 15 sectors. 144 bytes of weights are five, or six if they begin late."""
    assert work(CONV, WINDOWS).bytes == 4 * 15 * 32 + 16 * (5 + 0.5) * 32


def test_windows_are_read_once() -> None:
    operator = depthwise_conv2d(c=8, h=16, w=64, kernel=3, padding=1)
    tiling = Tiling(
        spatial={"n": (1, 1, 1, 1), "f": (8, 1, 1, 1), "y": (4, 1, 1, 4), "x": (2, 1, 32, 1)},
        reduction={"ry": (1, 3), "rx": (1, 3)},
        places=dict.fromkeys("nfyx", "x"),
        staged=frozenset({"pad"}),
    )
    data = next(access for access in nest_of(operator).inputs if access.produced)
    reads = reads_of(tiling, data, 4, {"ry": 3, "rx": 3})
    assert (reads.elements, reads.loads, reads.wavefronts) == (6 * 3, 6 * 3, 1)


@pytest.mark.parametrize(
    "changes",
    [
        # Each sum reads two numbers of its own.
        {"spatial": {"i": (128, 1, 16, 1), "j": (128, 1, 16, 1)}},
        # 32 blocks for all multiprocessors.
        {"spatial": {"i": (4, 1, 32, 16), "j": (8, 1, 32, 8)}},
        # Half a warp.
        {"spatial": {"i": (128, 1, 4, 4), "j": (128, 1, 4, 4)}},
        # Rows are read where they are, by threads that lie far apart.
        {"staged": frozenset({"weight"})},
        # A step of one, with two barriers each.
        {"reduction": {"k": (2048, 1)}},
    ],
    ids=["no reuse", "few blocks", "half a warp", "not staged", "short steps"],
)
def test_a_worse_tiling_is_estimated_slower(changes: dict[str, Any]) -> None:
    assert estimate(**changes) > 1.1 * estimate()


def test_copies_that_run_ahead_are_not_waited_for() -> None:
    assert estimate(stages=3, asynchronous=True) < estimate()


# -- by what nvcc makes of it ---------------------------------------------------------------------


def with_tiles(tiling: Tiling, **tiles: tuple[int, ...]) -> Tiling:
    return replace(tiling, spatial={**tiling.spatial, **tiles})


@needs_nvcc
@pytest.mark.parametrize(
    ("operator", "tiling"),
    [
        (PRODUCT, TILING),
        (PRODUCT, with_tiles(TILING, i=(32, 2, 8, 4), j=(16, 2, 16, 4))),
        (PRODUCT, with_tiles(TILING, i=(64, 1, 32, 1), j=(16, 1, 16, 8))),
        (CONV, WINDOWS),
        (CONV, with_tiles(WINDOWS, f=(8, 4, 2, 1), y=(7, 1, 2, 2))),
        (CONV, with_tiles(WINDOWS, f=(2, 2, 8, 2), x=(1, 1, 14, 2))),
    ],
    ids=["8x4", "two by two", "1x8", "windows", "tall windows", "wide windows"],
)
def test_loads_and_registers_are_those_that_nvcc_makes_of_it(
    operator: Operator, tiling: Tiling, tmp_path: Path
) -> None:
    nest = nest_of(operator)
    schedule = schedule_of(lower(operator))
    schedule_nest(schedule, nest, tiling)
    source = cuda_source(schedule.mod, TARGET.to_tvm())
    ptx = ptx_of(source, tmp_path)
    unrolled = unrolled_part(nest, tiling)
    sums = math.prod(parts[1] * parts[3] for parts in tiling.spatial.values())
    loads = sum(reads_of(tiling, access, 4, unrolled).loads for access in nest.inputs)
    found = ptx.count("ld.shared") / ptx.count("fma.rn.f32")
    assert found == pytest.approx(loads / (sums * math.prod(unrolled.values())), rel=0.1)
    (used,) = compile_cuda(source, "sm_90").resources.values()
    assert work(operator, tiling).registers == pytest.approx(used.registers, rel=0.45)
