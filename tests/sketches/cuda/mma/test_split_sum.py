"""Sums that several blocks share: what each has of them, and what is launched for that."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

from tests.compiled import needs_nvcc
from tunesmith.cuda.compiler import compile_cuda
from tunesmith.cuda.lowering import cuda_code, cuda_source
from tunesmith.operators import Conv2d, Operator, ProductOperator, batch_matmul, conv2d, matmul
from tunesmith.sketches.cuda.mma.block_tile import BlockTile, TileUse
from tunesmith.sketches.cuda.mma.conv2d_sketch import CudaTensorConv2d
from tunesmith.sketches.cuda.mma.gemm_sketch import CudaTensorGemm
from tunesmith.sketches.cuda.mma.product_sketch import ProductSketch
from tunesmith.sketches.cuda.mma.split_sum import THREADS, KTiles
from tunesmith.sketches.cuda.wgmma.conv2d_sketch import CudaWgmmaConv2d
from tunesmith.sketches.cuda.wgmma.gemm_sketch import CudaWgmmaGemm
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.sketch import mismatch

TARGET = Target("cuda", arch="sm_90")
GEMM = CudaTensorGemm()
# Of ResNet-18: one image, and many.
LAST_LAYER = conv2d(ci=512, h=7, w=7, co=512, kernel=3, padding=1, dtype="float16")
FIRST_LAYER = conv2d(n=64, ci=64, h=56, w=56, co=64, kernel=3, padding=1, dtype="float16")


@pytest.mark.parametrize("splits", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("k_tiles", [16, 17, 30, 31, 32, 145])
def test_each_block_has_about_as_many_k_tiles_and_none_is_left(splits: int, k_tiles: int) -> None:
    operator = matmul(m=64, n=64, k=32 * k_tiles - 5, dtype="float16")
    config = GEMM.default(operator, TARGET).replace(block_k=32, splits=splits)
    settings: dict[str, Any] = dict(config)
    use = TileUse(BlockTile(**settings), GEMM.product(operator))
    shares = [KTiles.of(use, split) for split in range(splits)]
    have = [list(range(share.first, share.first + share.count)) for share in shares]
    assert list(chain(*have)) == list(range(k_tiles))
    fewest, most = min(map(len, have)), max(map(len, have))
    assert 1 <= fewest <= most <= fewest + 1
    assert {(share.fewest, share.most) for share in shares} == {(fewest, most)}
    assert [shares[0].has(fewest, among) for among in (fewest, fewest + 1)] == [
        True,
        fewest < len(have[0]),
    ]


@pytest.mark.parametrize("sketch", [GEMM, CudaWgmmaGemm()], ids=lambda sketch: sketch.name)
def test_only_sums_that_are_shared_take_a_second_launch_and_memory(
    sketch: ProductSketch[Any],
) -> None:
    operator = batch_matmul(b=3, m=40, n=36, k=300, dtype="float16")
    default = sketch.default(operator, TARGET).replace(block_k=32)
    whole, shared = (
        cuda_code(
            sketch.program(operator, TARGET, default.replace(splits=splits)), TARGET.to_tvm()
        ).functions["main"]
        for splits in (1, 4)
    )
    assert len(whole.launches) == 1
    assert whole.workspaces == ()
    summing, adding = shared.launches
    (before,) = whole.launches
    assert summing.grid == (4 * before.grid[0], 1, 1)
    assert shared.workspaces == (4 * 3 * 40 * 36 * 4,)
    assert adding.block == (THREADS, 1, 1)
    # A thread for four elements of the result, of which a row is a multiple.
    assert adding.grid == (-(-3 * 40 * 36 // 4 // THREADS), 1, 1)
    partial_sums = 3  # after the operator's arguments and its result
    assert partial_sums in summing.arguments
    assert partial_sums in adding.arguments


@pytest.mark.parametrize(
    "sketch", [CudaTensorConv2d(), CudaWgmmaConv2d()], ids=lambda sketch: sketch.name
)
def test_where_few_blocks_have_long_sums_splits_are_estimated_to_be_faster(
    sketch: ProductSketch[Any],
) -> None:
    def best(operator: Operator) -> Config:
        configs = sketch.space(operator, TARGET).sample_many(1000, np.random.default_rng(0))
        return min(configs, key=lambda config: seconds(operator, config))

    def seconds(operator: Operator, config: Config) -> float:
        known = sketch.estimate(operator, TARGET, config)
        assert known is not None
        return known

    assert best(LAST_LAYER)["splits"] != 1
    assert best(FIRST_LAYER)["splits"] == 1
    for operator, faster in ((LAST_LAYER, True), (FIRST_LAYER, False)):
        whole = sketch.default(operator, TARGET).replace(splits=1)
        assert (seconds(operator, whole.replace(splits=4)) < seconds(operator, whole)) == faster


@pytest.mark.parametrize(
    ("sketch", "operator", "expected"),
    [
        (CudaTensorConv2d(), LAST_LAYER, (64, 64, 16)),
        (CudaWgmmaConv2d(), LAST_LAYER, (64, 96, 16)),
        (CudaTensorConv2d(), FIRST_LAYER, (64, 128, 1)),
        (CudaWgmmaConv2d(), FIRST_LAYER, (64, 128, 1)),
        # Too few even with splits; sums that are too short for a second launch.
        (GEMM, matmul(m=64, n=64, k=4096, dtype="float16"), (32, 32, 16)),
        (GEMM, matmul(m=64, n=64, k=1024, dtype="float16"), (32, 32, 1)),
        (GEMM, matmul(m=64, n=64, k=2048, dtype="float16"), (32, 32, 8)),
        # Smaller tiles come before splits.
        (GEMM, matmul(m=1024, n=1024, k=4096, dtype="float16"), (128, 64, 1)),
    ],
    ids=lambda given: getattr(given, "key", None) or getattr(given, "name", ""),
)
def test_the_default_splits_long_sums_where_tiles_are_few(
    sketch: ProductSketch[Any], operator: ProductOperator, expected: tuple[int, int, int]
) -> None:
    default = sketch.default(operator, TARGET)
    sketch.space(operator, TARGET).check(default)
    assert (default["block_m"], default["block_n"], default["splits"]) == expected


# -- of windows -----------------------------------------------------------------------------------

CONVOLUTIONS = pytest.mark.parametrize(
    "sketch", [CudaTensorConv2d(), CudaWgmmaConv2d()], ids=lambda sketch: sketch.name
)


@CONVOLUTIONS
@pytest.mark.parametrize(
    ("operator", "splits"),
    [
        (
            conv2d(
                n=2, ci=24, h=7, w=7, co=40, kernel=3, padding=1, dtype="float16", bias=True,
                residual=True,
            ),
            4,
        ),
        (
            conv2d(
                ci=16, h=9, w=8, co=24, kernel=3, padding=1, layout="NHWC", dtype="bfloat16",
                bias=True, relu=True,
            ),
            2,
        ),
        (conv2d(n=2, ci=100, h=8, w=6, co=40, kernel=1, dtype="float16"), 4),
        (conv2d(ci=5, h=7, w=7, co=9, kernel=5, stride=2, layout="NHWC", dtype="float16"), 2),
        (conv2d(ci=3, h=9, w=9, co=16, kernel=7, padding=3, dtype="float16", relu=True), 4),
    ],
    ids=["windows of a table", "copied windows", "plain images", "gathered channels", "no table"],
)  # fmt: skip
def test_blocks_that_share_the_sums_of_windows(
    sketch: ProductSketch[Any], operator: Conv2d, splits: int
) -> None:
    config = sketch.default(operator, TARGET).replace(block_k=32, splits=splits)
    sketch.space(operator, TARGET).check(config)
    assert mismatch(sketch, operator, config, TARGET) is None


@needs_nvcc
@CONVOLUTIONS
def test_nvcc_compiles_splits_without_spilling(sketch: ProductSketch[Any]) -> None:
    """Of the default of ResNet-18's last layer: the kernel that sums, and the one that adds up."""
    operator = conv2d(
        ci=512, h=7, w=7, co=512, kernel=3, padding=1, dtype="float16", bias=True, relu=True
    )
    config = sketch.default(operator, TARGET)
    assert config["splits"] == 16
    source = cuda_source(sketch.program(operator, TARGET, config), TARGET.to_tvm())
    found = compile_cuda(source, "sm_90").resources
    assert [(one.spill_stores, one.spill_loads) for one in found.values()] == [(0, 0)] * 2
