"""Convolutions on tensor cores: their results, how they are copied, and who gets them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compiled import needs_nvcc, resources
from tunesmith.operators import Conv2d, conv2d, matmul
from tunesmith.sketches import sketches_for
from tunesmith.sketches.cuda.mma.conv2d_sketch import CudaTensorConv2d
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaTensorConv2d()


class TestCudaTensorConv2d(SketchConformance):
    sketch = SKETCH
    on = TARGET
    samples = 1
    operators = (
        conv2d(ci=8, h=9, w=11, co=20, kernel=3, padding=1, dtype="float16", bias=True, relu=True),
        conv2d(
            n=2, ci=3, h=13, w=12, co=18, kernel=(5, 3), stride=2, padding=(2, 1), dtype="bfloat16"
        ),
        conv2d(n=2, ci=24, h=8, w=6, co=40, kernel=1, dtype="float16", bias=True, residual=True),
        conv2d(
            n=2, ci=16, h=9, w=8, co=24, kernel=3, padding=1, dilation=2, layout="NHWC",
            dtype="bfloat16", bias=True,
        ),
        conv2d(ci=5, h=7, w=7, co=9, kernel=3, stride=2, padding=1, layout="NHWC", dtype="float16"),
        conv2d(ci=5, h=8, w=7, co=9, kernel=3, stride=2, padding=(0, 0, 1, 2), dtype="float16"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "vectors"),
    [
        (conv2d(ci=16, h=8, w=8, co=16, kernel=1, dtype="float16"), (8, 8)),
        (conv2d(ci=16, h=7, w=7, co=16, kernel=1, dtype="float16"), (8, 1)),
        (conv2d(ci=16, h=8, w=8, co=16, kernel=3, padding=1, dtype="float16"), (8, 1)),
        (conv2d(ci=3, h=8, w=8, co=16, kernel=3, dtype="float16"), (1, 1)),
        (conv2d(ci=16, h=8, w=8, co=20, kernel=3, layout="NHWC", dtype="float16"), (8, 4)),
        (conv2d(ci=3, h=8, w=8, co=16, kernel=3, layout="NHWC", dtype="float16"), (1, 8)),
    ],
    ids=lambda given: given.key if isinstance(given, Conv2d) else "",
)
def test_what_lies_side_by_side_is_copied_together(
    operator: Conv2d, vectors: tuple[int, int]
) -> None:
    """Left and right operand: weights and windows of NCHW, windows and weights of NHWC."""
    product = SKETCH.product(operator)
    assert (product.left.vector, product.right.vector) == vectors


def test_a_row_that_is_padding_for_all_threads() -> None:
    """Where a k tile is part of one tap TVM knows the row, which is -2 here."""
    operator = conv2d(ci=38, h=5, w=8, co=16, kernel=5, padding=2, layout="NHWC", dtype="float16")
    tile = {"block_m": 64, "block_n": 16, "block_k": 16, "warps_m": 1, "warps_n": 1}
    config = SKETCH.default(operator, TARGET).replace(**tile, stages=6, splits=1)
    assert mismatch(SKETCH, operator, config, TARGET) is None


@needs_nvcc
@pytest.mark.parametrize(("layout", "arch"), [("NCHW", "sm_80"), ("NHWC", "sm_90")])
def test_nvcc_compiles_it_without_spilling(layout: str, arch: str) -> None:
    operator = conv2d(
        n=4, ci=64, h=28, w=28, co=96, kernel=3, padding=1, layout=layout, dtype="float16"
    )
    found = resources(SKETCH, operator, arch)
    assert {(one.spill_stores, one.spill_loads) for one in found} == {(0, 0)}


def test_it_is_for_one_group_of_16_bits() -> None:
    layer = conv2d(ci=8, h=8, w=8, co=8, kernel=3, dtype="bfloat16")
    assert [it.name for it in sketches_for(layer, TARGET)] == [
        "cuda_tiled",
        "cuda_conv2d_direct",
        "cuda_tensor_conv2d",
        "cuda_wgmma_conv2d",
    ]
    assert not SKETCH.supports(layer, Target("cuda", arch="sm_75"))
    assert not SKETCH.supports(conv2d(ci=8, h=8, w=8, co=8, kernel=3), TARGET)
    grouped = conv2d(ci=8, h=8, w=8, co=8, kernel=3, groups=2, dtype="float16")
    assert not SKETCH.supports(grouped, TARGET)
    assert not SKETCH.supports(matmul(m=8, n=8, k=8, dtype="float16"), TARGET)


def test_windows_that_are_gathered_have_a_table_where_it_is_small() -> None:
    def entries(**options: Any) -> int:
        product = SKETCH.product(conv2d(h=16, w=16, co=8, dtype="float16", **options))
        return product.right.table_entries(32) + product.left.table_entries(32)

    assert entries(ci=16, kernel=3) == 160  # 144 terms, in whole k tiles
    assert entries(ci=16, kernel=1, stride=2) == 32
    assert entries(ci=3, kernel=7) == 0  # more taps than bits in a word
    assert entries(ci=1024, kernel=3) == 0  # 72 KiB
    assert entries(ci=16, kernel=3, layout="NHWC") == 0  # copied eight at a time
    assert entries(ci=3, kernel=3, layout="NHWC") == 32


@pytest.mark.parametrize(("ci", "kernel"), [(3, 7), (700, 3)])
def test_windows_without_a_table(ci: int, kernel: int) -> None:
    operator = conv2d(ci=ci, h=6, w=6, co=16, kernel=kernel, padding=1, dtype="float16")
    config = SKETCH.default(operator, TARGET).replace(block_k=64)
    assert mismatch(SKETCH, operator, config, TARGET) is None
