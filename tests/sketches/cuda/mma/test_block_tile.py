"""What a block tile takes, against what the generated code asks for, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tunesmith.cuda.lowering import cuda_code
from tunesmith.errors import InstantiationError
from tunesmith.operators import ProductOperator, batch_matmul, conv2d, matmul
from tunesmith.sketches.cuda.limits import shared_bytes_of
from tunesmith.sketches.cuda.mma.block_tile import TABLE_ENTRY, BlockTile, TileUse
from tunesmith.sketches.cuda.mma.conv2d_sketch import CudaTensorConv2d
from tunesmith.sketches.cuda.mma.gemm_sketch import CudaTensorGemm
from tunesmith.sketches.cuda.mma.tensor_sketch import TensorSketch
from tunesmith.sketches.tir import emit
from tunesmith.space import Config
from tunesmith.target import Target

TARGET = Target("cuda", arch="sm_90")
GEMM = CudaTensorGemm()
LARGE = matmul(m=4096, n=4096, k=4096, dtype="bfloat16")


def use(sketch: TensorSketch, operator: ProductOperator, config: Config) -> TileUse:
    settings: dict[str, Any] = dict(config)
    product = sketch.product(operator)
    return TileUse(BlockTile(**settings), product)


@pytest.mark.parametrize(
    ("sketch", "operator"),
    [
        (GEMM, matmul(m=40, n=72, k=33, dtype="float16")),
        (GEMM, batch_matmul(b=2, m=64, n=48, k=24, transpose="TN", dtype="bfloat16")),
        (CudaTensorConv2d(), conv2d(ci=8, h=9, w=9, co=16, kernel=3, padding=1, dtype="float16")),
    ],
    ids=lambda given: given.name,
)
def test_shared_memory_and_threads_are_those_of_the_launch(
    sketch: TensorSketch, operator: ProductOperator
) -> None:
    checked = 0
    for config in sketch.space(operator, TARGET).sample_many(8, np.random.default_rng(2)):
        try:
            code = cuda_code(sketch.program(operator, TARGET, config), TARGET.to_tvm())
        except InstantiationError:
            continue
        launch, *adding = code.functions["main"].launches
        counted = use(sketch, operator, config)
        assert launch.shared_bytes == counted.shared_bytes
        assert launch.block == (counted.tile.threads, 1, 1)
        assert launch.grid == (counted.blocks, 1, 1)
        assert len(adding) == (counted.tile.splits > 1)
        assert not re.search(r"__shared__ (?!__align__\(\d+\) \w+ \w+\[\];)", code.source)
        checked += 1
    assert checked >= 3


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stages": 6, "layout": "padded"}, "113664 bytes of shared memory a block"),
        ({"block_m": 16, "block_n": 256, "warps_m": 1, "warps_n": 1}, "registers a thread"),
        ({"warps_m": 8, "warps_n": 4}, "registers a thread, 1024 threads a block"),
    ],
)
def test_what_is_too_much_is_said_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], reason: str
) -> None:
    """Of what the space leaves: padding, and what threads need besides sums."""
    monkeypatch.setattr(emit, "module", None)
    target = Target("cuda", arch="sm_86")
    config = GEMM.default(LARGE, target).replace(**changes)
    GEMM.space(LARGE, target).check(config)
    with pytest.raises(InstantiationError, match=reason):
        GEMM.program(LARGE, target, config)


@pytest.mark.parametrize(
    ("operator", "splits", "reason"),
    [
        (matmul(m=64, n=64, k=96, dtype="float16"), 4, "4 blocks share a sum of 3 k tiles"),
        (
            matmul(m=2**14, n=2**14, k=2048, dtype="float16"),
            8,
            r"partial_sums \(8, 16384, 16384\) has more than 2\^31 - 1 elements",
        ),
    ],
    ids=["more than k tiles", "more than 32 bits can number"],
)
def test_splits_that_are_too_many_are_refused(
    operator: ProductOperator, splits: int, reason: str
) -> None:
    config = GEMM.default(operator, TARGET).replace(splits=splits)
    with pytest.raises(InstantiationError, match=reason):
        use(GEMM, operator, config).check(shared_bytes_of("sm_90"))
    assert GEMM.estimate(operator, TARGET, config) == float("inf")


def test_a_table_of_windows_has_the_k_tiles_of_a_split() -> None:
    sketch = CudaTensorConv2d()
    operator = conv2d(ci=64, h=9, w=9, co=16, kernel=3, padding=1, dtype="float16")
    default = sketch.default(operator, TARGET).replace(block_k=64, splits=1)

    def table(splits: int) -> int:
        return use(sketch, operator, default.replace(splits=splits)).table_bytes

    assert [table(splits) // (64 * TABLE_ENTRY) for splits in (1, 2, 4)] == [9, 5, 3]


def test_gpus_differ_in_shared_memory() -> None:
    known = {arch: shared_bytes_of(arch) // 1024 for arch in ("sm_75", "sm_80", "sm_89", "sm_90a")}
    assert known == {"sm_75": 0, "sm_80": 163, "sm_89": 99, "sm_90a": 227}
    assert shared_bytes_of("sm_120") == shared_bytes_of("sm_199") == 99 * 1024
    small, large = (GEMM.space(LARGE, Target("cuda", arch=arch)) for arch in ("sm_89", "sm_90"))
    config = GEMM.default(LARGE, TARGET).replace(block_k=64, stages=5)
    assert large.contains(config)
    assert not small.contains(config)
