"""The generic sketch for GPUs: its programs for operators of all kinds."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.compiled import needs_nvcc, ptx_of
from tests.operators.strategies import any_operator
from tests.properties import examples
from tests.sketches.cuda.declarations import declared_shared_bytes
from tunesmith.cuda.lowering import cuda_code, cuda_source
from tunesmith.errors import InstantiationError
from tunesmith.operators import (
    Operator,
    adaptive_pool2d,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
    matmul,
    pool2d,
    reduce,
    softmax,
    workload,
    workload_names,
)
from tunesmith.sketches import sketches_for
from tunesmith.sketches.cuda.limits import LIMITS
from tunesmith.sketches.cuda.tiled.sketch import CudaTiled
from tunesmith.space import Config, Factorization
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaTiled()
OPERATORS = (
    conv2d(ci=8, h=9, w=11, co=6, kernel=3, stride=2, layout="NHWC", residual=True),
    depthwise_conv2d(c=6, h=7, w=7, kernel=3, padding=(0, 0, 1, 2)),
    conv2d_transpose(ci=4, h=5, w=5, co=6, kernel=4, stride=2, padding=1),
    pool2d(c=4, h=9, w=9, kernel=3, stride=2, padding=1, kind="avg"),
    pool2d(c=4, h=8, w=9, kernel=3, stride=2, padding=1, kind="avg", ceil_mode=True),
    adaptive_pool2d(c=4, h=9, w=10, output_size=(4, 3)),
    adaptive_pool2d(c=3, h=7, w=7, output_size=5, kind="max"),
    reduce(outer=6, n=40),
    reduce(outer=2, n=33, inner=10, kind="sum", dtype="float16"),
    reduce(n=64, kind="max"),
    batch_matmul(b=3, m=8, n=10, k=12, transpose="NT"),
    matmul(m=16, n=24, k=8, dtype="int8"),
    matmul(m=16, n=24, k=32, dtype="float16", bias=True),
    dense(m=1, n=67, k=31, bias=True, relu=True),
)


class TestCudaTiled(SketchConformance):
    sketch = SKETCH
    samples = 1
    on = TARGET
    operators = OPERATORS


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_configs_keep_the_limits_that_are_products_of_factors(operator: Operator) -> None:
    """What is left to find out while a program is made is the shared memory."""
    space, made = SKETCH.space(operator, TARGET), 0
    for config in space.sample_many(50, np.random.default_rng(1)):
        try:
            SKETCH.program(operator, TARGET, config)
        except InstantiationError as error:
            assert re.search("shared memory|sums and copies|stages of|asynchronous", str(error))
        else:
            made += 1
    assert made


def test_the_limits_leave_a_block_of_the_largest_size() -> None:
    space = SKETCH.space(matmul(m=1024, n=1024, k=64), TARGET)
    threads = []
    for config in space.sample_many(500, np.random.default_rng(0)):
        rows, columns = config["tile_i"], config["tile_j"]
        assert isinstance(rows, tuple)
        assert isinstance(columns, tuple)
        threads.append(int(rows[2]) * int(columns[2]))
    assert max(threads) == LIMITS.threads


PRODUCT = matmul(m=32, n=24, k=64)
PLAIN = {"vector": 1, "stages": 1, "async_copy": False}
PADDED = conv2d(ci=8, h=9, w=9, co=6, kernel=3, padding=1, bias=True, relu=True)


@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        (PRODUCT, {"stages": 2, "vector": 4}),
        (PRODUCT, {"stages": 2, "async_copy": True}),
        (PRODUCT, {"stages": 3, "async_copy": True, "vector": 4, "auto_unroll_max_step": 64}),
        (PRODUCT, {"stages": 3, "async_copy": True, "stage_weight": False}),
        (PADDED, {"stages": 2}),
        (PADDED, {"stages": 4, "async_copy": True, "vector": 2, "auto_unroll_max_step": 0}),
    ],
    ids=str,
)
def test_copies_run_ahead_of_sums(operator: Operator, changes: dict[str, Any]) -> None:
    config = with_changes(operator, changes, {"tile_k": (16, 1, 4), "tile_rc": (4, 1, 2)})
    assert mismatch(SKETCH, operator, config, TARGET) is None
    source = cuda_source(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    waits = set(map(int, re.findall(r"cp\.async\.wait_group (\d+)", source)))
    assert waits == (set(range(changes["stages"])) if "async_copy" in changes else set())


@pytest.mark.parametrize(
    ("operator", "slices", "stages"),
    [
        (PRODUCT, 16, {}),
        (PRODUCT, 4, {"stages": 2}),
        (PRODUCT, 8, {"stages": 2, "async_copy": True}),
        (dense(m=1, n=40, k=64, relu=True), 8, {}),
    ],
    ids=str,
)
def test_slices_of_threads_share_a_sum(
    operator: Operator, slices: int, stages: dict[str, Any]
) -> None:
    changes = {**stages, "tile_k": (64 // slices // 2, slices, 2)}
    config = with_changes(operator, changes, {"tile_i": (2, 1, 4, 4), "tile_j": (3, 1, 4, 2)})
    assert SKETCH._tiling(SKETCH._nest(operator), config).slices == slices
    assert mismatch(SKETCH, operator, config, TARGET) is None


@pytest.mark.parametrize(
    "operator", [workload(f"resnet18.C{i}") for i in range(1, 13)], ids=lambda it: it.key
)
def test_the_default_keeps_all_multiprocessors_busy(operator: Operator) -> None:
    """Blocks for 132 multiprocessors, or nearly, and eight warps each, or nearly."""
    nest = SKETCH._nest(operator)
    use = SKETCH._tiling(nest, SKETCH.default(operator, TARGET)).use(operator, nest)
    assert math.prod(use.grid) >= 128
    assert 192 <= math.prod(use.threads) <= 256


def test_the_default_of_a_large_product_reads_little_for_each_sum() -> None:
    config = SKETCH.default(matmul(m=2048, n=2048, k=2048), TARGET)
    assert config["tile_i"] == (16, 1, 16, 8)
    assert config["tile_j"] == (16, 2, 16, 4)


def test_copies_of_vectors_whose_places_are_no_row() -> None:
    """Of 12 by 8 by 3 by 3 weights, four at a time, by 78 threads."""
    operator = conv2d(n=2, ci=16, h=13, w=11, co=24, kernel=3, padding=1)
    config = Config(
        {
            "tile_n": (1, 1, 1, 2), "tile_f": (2, 1, 6, 2), "tile_y": (1, 13, 1, 1),
            "tile_x": (11, 1, 1, 1), "tile_rc": (2, 1, 8), "tile_ry": (1, 3), "tile_rx": (1, 3),
            "stage_pad": True, "stage_weight": True, "vector": 4, "stages": 1,
            "async_copy": False, "auto_unroll_max_step": 512, "unroll_explicit": 0,
        }
    )  # fmt: skip
    assert mismatch(SKETCH, operator, config, TARGET) is None


@needs_nvcc
@pytest.mark.parametrize("stages", [1, 2])
def test_sums_are_in_registers_whatever_is_unrolled(stages: int, tmp_path: Path) -> None:
    operator = matmul(m=512, n=512, k=256)
    tiles = {"tile_i": (8, 8, 4, 2), "tile_j": (2, 2, 32, 4), "tile_k": (16, 1, 16)}
    changes = {"auto_unroll_max_step": 64, "stages": stages, "vector": 2}
    config = Config({**SKETCH.default(operator, TARGET), **PLAIN, **tiles, **changes})
    source = cuda_source(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    ptx = ptx_of(source, tmp_path)
    assert ptx.count("fma.rn.f32") >= 128
    assert ".local" not in ptx


def test_neighbours_are_written_at_once() -> None:
    config = with_changes(PRODUCT, {"vector": 4, "tile_j": (1, 1, 6, 4), "tile_k": (16, 1, 4)}, {})
    source = cuda_source(SKETCH.program(PRODUCT, TARGET, config), TARGET.to_tvm())
    assert "*(float4*)(matmul_ptr" in source
    assert mismatch(SKETCH, PRODUCT, config, TARGET) is None


def with_changes(operator: Operator, changes: dict[str, Any], tiles: dict[str, Any]) -> Config:
    """The default with other values, and with the tiles that fit."""
    default = SKETCH.default(operator, TARGET)
    space = SKETCH.space(operator, TARGET)
    extents = {p.name: p.product for p in space.parameters if isinstance(p, Factorization)}
    fitting = {n: tile for n, tile in tiles.items() if extents.get(n) == math.prod(tile)}
    config = Config({**default, **PLAIN, **fitting, **changes})
    space.check(config)
    return config


LARGE = {"tile_i": (2, 1, 16, 8), "tile_j": (2, 1, 16, 8)}


def test_shared_memory_beyond_what_every_gpu_has_is_asked_for_at_the_launch() -> None:
    """Four stages of 32 steps of 2 * 128 floats: 128 KiB, more than an RTX 4090 has."""
    operator = matmul(m=256, n=256, k=256)
    changes = {**LARGE, "tile_k": (8, 1, 32), "stages": 4, "async_copy": True}
    config = with_changes(operator, changes, {})
    code = cuda_code(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    (launch,) = code.functions["main"].launches
    assert launch.shared_bytes == 4 * 32 * 2 * 128 * 4
    assert declared_shared_bytes(code.source) == 0
    with pytest.raises(InstantiationError, match=r"131072 bytes of shared memory.+ is 101376"):
        SKETCH.program(operator, Target("cuda", arch="sm_89"), config)


def test_sums_are_right_in_memory_that_is_asked_for() -> None:
    operator = matmul(m=64, n=128, k=128)
    changes = {"tile_k": (2, 1, 64), "tile_i": (1, 1, 4, 16), "tile_j": (1, 1, 16, 8)}
    config = with_changes(operator, {**changes, "stages": 2, "async_copy": True}, {})
    assert mismatch(SKETCH, operator, config, TARGET) is None


def test_older_gpus_copy_by_way_of_registers() -> None:
    turing = Target("cuda", arch="sm_75")
    assert "async_copy" not in SKETCH.space(PRODUCT, turing).names
    config = Config({**SKETCH.default(PRODUCT, turing), "stages": 2})
    assert mismatch(SKETCH, PRODUCT, config, turing) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stages": 3, "async_copy": True, "tile_k": (2, 1, 32)}, "3 stages of 2 steps"),
        ({"stages": 3}, "no such config"),
        ({"stages": 2, "stage_data": False}, "no such config"),
        ({"tile_k": (8, 8, 1), "tile_i": (1, 2, 8, 2)}, "no such config"),
    ],
)
def test_pipelines_that_cannot_be(changes: dict[str, Any], reason: str) -> None:
    config = Config({**SKETCH.default(PRODUCT, TARGET), **PLAIN, **changes})
    with pytest.raises(InstantiationError, match=reason):
        SKETCH.program(PRODUCT, TARGET, config)


def test_copies_too_small_to_be_asynchronous_are_refused() -> None:
    operator = matmul(m=32, n=24, k=64, dtype="float16")
    changes = {"stages": 2, "async_copy": True, "tile_k": (16, 1, 4), "vector": 1}
    with pytest.raises(InstantiationError, match="copies of 2 bytes of data"):
        SKETCH.program(operator, TARGET, with_changes(operator, changes, {}))


@examples(40)
@given(operator=any_operator)
def test_every_operator_has_a_sketch_whose_default_is_never_refused(operator: Operator) -> None:
    for sketch in sketches_for(operator, TARGET):
        sketch.program(operator, TARGET, sketch.default(operator, TARGET))


@pytest.mark.parametrize(
    "operator",
    [
        conv2d(ci=9, h=4096, w=4096, co=6, kernel=2, stride=2, dilation=2, padding=1, groups=3),
        depthwise_conv2d(n=2, c=40, h=75, w=4096, kernel=2, dilation=2, dtype="float64"),
        *(workload(name) for name in workload_names()),
    ],
    ids=lambda operator: operator.key,
)
def test_defaults_of_large_operators_are_not_refused(operator: Operator) -> None:
    for arch in ("sm_75", "sm_90"):
        target = Target("cuda", arch=arch)
        for sketch in sketches_for(operator, target):
            sketch.program(operator, target, sketch.default(operator, target))


def test_it_is_for_one_reduction_on_a_gpu() -> None:
    assert not SKETCH.supports(softmax(m=4, n=4), TARGET)
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), Target())
    assert [it.name for it in sketches_for(pool2d(c=4, h=8, w=8, kernel=2), TARGET)] == [
        "cuda_tiled"
    ]
