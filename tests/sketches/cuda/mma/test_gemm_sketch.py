"""Products on tensor cores: their results, the instructions they are made of, and who gets them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.compiled import needs_nvcc, ptx_of, resources
from tests.properties import examples
from tunesmith.cuda.lowering import cuda_code, cuda_source
from tunesmith.errors import InstantiationError
from tunesmith.measure.trial.verify import poison_like
from tunesmith.operators import Operator, batch_matmul, conv2d, dense, matmul
from tunesmith.sketches import sketches_for
from tunesmith.sketches.cuda.mma.gemm_sketch import CudaTensorGemm
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu.in_process import run_cuda_code
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaTensorGemm()
LARGE = matmul(m=4096, n=4096, k=4096, dtype="bfloat16")


class TestCudaTensorGemm(SketchConformance):
    sketch = SKETCH
    on = TARGET
    samples = 1
    operators = (
        matmul(m=72, n=48, k=80, dtype="float16", residual=True),
        matmul(m=33, n=41, k=37, dtype="bfloat16", bias=True, relu=True, residual=True),
        batch_matmul(b=2, m=40, n=36, k=50, transpose="TN", dtype="float16", bias=True),
        batch_matmul(b=3, m=17, n=24, k=20, transpose="NT", dtype="bfloat16"),
        dense(m=1, n=64, k=128, dtype="float16", bias=True, relu=True),
    )


@examples(3)
@given(
    m=st.integers(1, 40),
    n=st.integers(1, 40),
    k=st.integers(1, 90),
    dtype=st.sampled_from(["float16", "bfloat16"]),
    seed=st.integers(0, 1000),
)
def test_any_config_computes_the_reference(m: int, n: int, k: int, dtype: str, seed: int) -> None:
    operator = matmul(m=m, n=n, k=k, dtype=dtype)
    config = SKETCH.space(operator, TARGET).sample(np.random.default_rng(seed))
    try:
        wrong = mismatch(SKETCH, operator, config, TARGET)
    except InstantiationError:
        reject()
    assert wrong is None, config.key


@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        (matmul(m=72, n=48, k=256, dtype="float16", residual=True), {"stages": 3, "splits": 2}),
        (
            batch_matmul(b=3, m=40, n=36, k=165, transpose="TN", dtype="bfloat16", bias=True),
            {"stages": 4, "splits": 4},
        ),
        (
            matmul(m=33, n=41, k=337, dtype="float16", bias=True, relu=True, residual=True),
            {"stages": 6, "splits": 8, "layout": "padded"},
        ),
        (dense(m=1, n=64, k=500, dtype="float16", relu=True), {"stages": 1, "splits": 16}),
        (matmul(m=40, n=24, k=72, dtype="bfloat16", bias=True), {"stages": 1, "splits": 2}),
    ],
    ids=[
        "as many k tiles for all",
        "fewer than stages",
        "gathered, fewer than stages",
        "one for each",
        "one after the other",
    ],
)
def test_blocks_that_share_a_sum(operator: Operator, changes: dict[str, Any]) -> None:
    """Of the cases but the first and the fourth not all blocks have as many k tiles of 32."""
    config = SKETCH.default(operator, TARGET).replace(block_k=32, **changes)
    SKETCH.space(operator, TARGET).check(config)
    assert mismatch(SKETCH, operator, config, TARGET) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cp.async.wait_group 2;", "cp.async.wait_group 3;"),
        ("__syncthreads();", ""),
        ("ldmatrix.sync.aligned.m8n8.x4.trans", "ldmatrix.sync.aligned.m8n8.x4"),
    ],
    ids=["a copy that is not waited for", "no barriers", "a factor that is not transposed"],
)
def test_wrong_code_gives_wrong_results(before: str, after: str) -> None:
    operator = matmul(m=64, n=64, k=128, dtype="float16")
    config = SKETCH.default(operator, TARGET).replace(
        block_m=64, block_n=64, warps_m=2, warps_n=2, stages=4
    )
    code = cuda_code(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    assert before in code.source
    inputs = operator.make_inputs(0)
    expected = operator.reference(*inputs)
    right = run_cuda_code(code, [*inputs, poison_like(expected)])
    np.testing.assert_allclose(right, expected, rtol=1e-2, atol=1e-2)
    wrong = replace(code, source=code.source.replace(before, after))
    output = run_cuda_code(wrong, [*inputs, poison_like(expected)])
    assert not np.allclose(output, expected, rtol=1e-2, atol=1e-2)


@needs_nvcc
@pytest.mark.parametrize(
    ("operator", "arch"),
    [
        (LARGE, "sm_90"),
        (batch_matmul(b=2, m=512, n=512, k=96, transpose="TN", dtype="float16"), "sm_80"),
        (matmul(m=301, n=300, k=301, dtype="float16", bias=True), "sm_80"),
        (batch_matmul(b=2, m=96, n=72, k=4000, dtype="float16", bias=True), "sm_80"),
    ],
    ids=lambda given: getattr(given, "name", given),
)
def test_nvcc_compiles_it_without_spilling(operator: Operator, arch: str) -> None:
    found = resources(SKETCH, operator, arch)
    assert {(one.spill_stores, one.spill_loads) for one in found} == {(0, 0)}


@needs_nvcc
def test_it_is_made_of_the_instructions_that_it_is_meant_to_be(tmp_path: Path) -> None:
    """Of the default for a large product: each warp has 64x64, in k tiles of two steps of 16."""
    config = SKETCH.default(LARGE, TARGET)
    source = cuda_source(SKETCH.program(LARGE, TARGET, config), TARGET.to_tvm())
    text = ptx_of(source, tmp_path)

    def count(pattern: str) -> int:
        return len(re.findall(pattern, text))

    steps, down, across = 2, 64 // 16, 64 // 8
    copies = 2 * 128 * 32 // 8 // 128  # of 16 bytes by 128 threads, of both operands' tiles
    assert count(r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32") == (
        steps * down * across
    )
    # The first step of the first k tile is read before the loop.
    assert count(r"ldmatrix\.sync\.aligned\.m8n8\.x4\.(trans\.)?shared\.b16") == (
        (steps + 1) * (down + across // 2)
    )
    # Before the loop and in it; nvcc may or may not unroll the three before it.
    of_16_bytes = count(r"cp\.async\.cg\.shared\.global \[%\w+\], \[%\w+\], 16;")
    assert of_16_bytes in (2 * copies, 4 * copies)
    assert count(r"cp\.async\.c[ag]\.") == of_16_bytes
    assert count(r"st\.global\.v4") == down * 16 * 64 // 8 // 32
    assert count(r"\.local") == 0


def test_it_is_for_16_bits_on_gpus_that_can() -> None:
    product = matmul(m=64, n=64, k=64, dtype="float16")
    assert [SKETCH.supports(product, Target("cuda", arch=a)) for a in ("sm_75", "sm_80")] == [
        False,
        True,
    ]
    assert not SKETCH.supports(product, Target())
    assert not SKETCH.supports(matmul(m=64, n=64, k=64), TARGET)
    assert not SKETCH.supports(conv2d(ci=8, h=8, w=8, co=8, kernel=1, dtype="float16"), TARGET)
    assert [it.name for it in sketches_for(product, TARGET)] == [
        "cuda_tiled",
        "cuda_tensor_gemm",
        "cuda_wgmma_gemm",
    ]


@pytest.mark.parametrize(
    ("size", "tile"),
    [(4096, (128, 128)), (1024, (128, 64)), (512, (64, 32)), (64, (32, 32)), (16, (16, 16))],
)
def test_the_default_has_tiles_for_all_multiprocessors(size: int, tile: tuple[int, int]) -> None:
    default = SKETCH.default(matmul(m=size, n=size, k=size, dtype="float16"), TARGET)
    assert (default["block_m"], default["block_n"]) == tile
