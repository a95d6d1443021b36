"""Products by warpgroups: their results, the instructions they are made of, and who gets them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.compiled import needs_nvcc, ptx_of, resources
from tests.properties import examples
from tunesmith.cuda.compiler import nvcc, options_for
from tunesmith.cuda.lowering import cuda_code, cuda_source
from tunesmith.errors import InstantiationError
from tunesmith.measure.trial.verify import poison_like
from tunesmith.operators import Operator, batch_matmul, conv2d, dense, matmul
from tunesmith.sketches import sketch_for, sketches_for
from tunesmith.sketches.cuda.wgmma.gemm_sketch import CudaWgmmaGemm
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu.in_process import run_cuda_code
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaWgmmaGemm()
LARGE = matmul(m=4096, n=4096, k=4096, dtype="bfloat16")


class TestCudaWgmmaGemm(SketchConformance):
    sketch = SKETCH
    on = TARGET
    samples = 1
    operators = (
        matmul(m=72, n=48, k=80, dtype="float16", residual=True),
        matmul(m=33, n=41, k=37, dtype="bfloat16", bias=True, relu=True, residual=True),
        batch_matmul(b=2, m=80, n=96, k=104, transpose="TN", dtype="float16", bias=True),
        batch_matmul(b=3, m=17, n=24, k=20, transpose="NT", dtype="bfloat16"),
        dense(m=1, n=64, k=128, dtype="float16", bias=True, relu=True),
    )


@examples(4)
@given(
    sizes=st.tuples(st.integers(1, 80), st.integers(1, 110), st.integers(1, 150)),
    of_eight=st.booleans(),
    transpose=st.sampled_from(["NN", "NT", "TN"]),
    dtype=st.sampled_from(["float16", "bfloat16"]),
    seed=st.integers(0, 1000),
)
def test_any_config_computes_the_reference(
    sizes: tuple[int, int, int], of_eight: bool, transpose: str, dtype: str, seed: int
) -> None:
    m, n, k = (-(-size // 8) * 8 if of_eight else size for size in sizes)
    operator = batch_matmul(b=1, m=m, n=n, k=k, transpose=transpose, dtype=dtype)
    config = SKETCH.space(operator, TARGET).sample(np.random.default_rng(seed))
    try:
        wrong = mismatch(SKETCH, operator, config, TARGET)
    except InstantiationError:
        reject()
    assert wrong is None, config.key


@pytest.mark.parametrize("transpose", ["NN", "NT", "TN"])
@pytest.mark.parametrize(
    "changes",
    [
        {"block_m": 128, "block_n": 192, "block_k": 64, "warpgroups": 1, "stages": 3},
        {"block_m": 128, "block_n": 96, "block_k": 128, "warpgroups": 2, "pending": 0, "stages": 2},
        {"block_m": 192, "block_n": 64, "block_k": 32, "warpgroups": 3, "stages": 5},
    ],
    ids=["two products a step", "blocks of 32 columns", "rows of 32 elements"],
)
def test_layouts_of_shared_memory(transpose: str, changes: dict[str, Any]) -> None:
    m, n = changes["block_m"], changes["block_n"]
    operator = batch_matmul(b=1, m=m, n=n, k=264, transpose=transpose, dtype="float16")
    assert mismatch(SKETCH, operator, config_of(operator, **changes), TARGET) is None


@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        (matmul(m=72, n=48, k=256, dtype="float16", residual=True), {"stages": 3, "splits": 2}),
        (
            batch_matmul(b=3, m=80, n=36, k=165, transpose="TN", dtype="bfloat16", bias=True),
            {"stages": 5, "splits": 4},
        ),
        (
            matmul(m=33, n=41, k=337, dtype="float16", bias=True, relu=True, residual=True),
            {"stages": 6, "splits": 8, "pending": 0},
        ),
        (dense(m=1, n=64, k=500, dtype="float16", relu=True), {"stages": 4, "splits": 16}),
        (matmul(m=40, n=24, k=72, dtype="bfloat16", bias=True), {"stages": 3, "splits": 2}),
    ],
    ids=[
        "as many k tiles for all",
        "fewer than stages",
        "gathered, fewer than stages",
        "one for each",
        "one or two",
    ],
)
def test_blocks_that_share_a_sum(operator: Operator, changes: dict[str, Any]) -> None:
    """Of the cases but the first and the fourth not all blocks have as many k tiles of 32."""
    config = config_of(operator, block_k=32, **changes)
    assert mismatch(SKETCH, operator, config, TARGET) is None


def config_of(operator: Operator, **changes: Any) -> Config:
    """The default with these changes, which is in the space."""
    config = SKETCH.default(operator, TARGET).replace(**changes)
    SKETCH.space(operator, TARGET).check(config)
    return config


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cp.async.wait_group 1;", "cp.async.wait_group 2;"),
        ("fence.proxy.async.shared::cta;", "wgmma.fence.sync.aligned;"),
        ("wgmma.wait_group.sync.aligned 1;", "wgmma.fence.sync.aligned;"),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
        ("__syncthreads();", ""),
        (", ps0, 1, 1, 0, 1; }", ", ps0, 1, 1, 1, 1; }"),
    ],
    ids=[
        "a copy that is not waited for",
        "copies that are not published",
        "a stage that is overwritten too early",
        "a product that is not waited for",
        "no barriers",
        "a factor that is turned",
    ],
)
def test_wrong_code_gives_wrong_results(before: str, after: str) -> None:
    operator = matmul(m=128, n=64, k=640, dtype="float16")
    config = config_of(operator, block_m=128, block_n=64, warpgroups=2, stages=4)
    code = cuda_code(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    assert before in code.source
    inputs = operator.make_inputs(0)
    expected = operator.reference(*inputs)

    def output(source: str) -> Any:
        return run_cuda_code(replace(code, source=source), [*inputs, poison_like(expected)])

    np.testing.assert_allclose(output(code.source), expected, rtol=1e-2, atol=1e-2)
    wrong = output(code.source.replace(before, after))
    assert not np.allclose(wrong, expected, rtol=1e-2, atol=1e-2)


@needs_nvcc
@pytest.mark.parametrize(
    "operator",
    [
        LARGE,
        batch_matmul(b=2, m=512, n=512, k=96, transpose="TN", dtype="float16"),
        matmul(m=301, n=300, k=301, dtype="float16", bias=True),
        batch_matmul(b=2, m=96, n=72, k=4000, dtype="float16", bias=True),
    ],
    ids=lambda operator: operator.name,
)
def test_nvcc_compiles_it_without_spilling(operator: Operator) -> None:
    found = resources(SKETCH, operator, "sm_90")
    assert {(one.spill_stores, one.spill_loads) for one in found} == {(0, 0)}


@needs_nvcc
@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        (LARGE, {}),
        (LARGE, {"block_m": 192, "block_n": 128, "warpgroups": 1, "block_k": 32, "pending": 0}),
        (batch_matmul(b=2, m=512, n=512, k=96, transpose="TN", dtype="float16"), {"block_n": 192}),
        (matmul(m=301, n=300, k=301, dtype="float16", bias=True), {}),
        (LARGE, {"splits": 16}),
        (LARGE, {"splits": 8, "block_k": 32, "stages": 6, "block_m": 192, "warpgroups": 3}),
        (matmul(m=96, n=72, k=4001, dtype="float16", bias=True), {}),
    ],
    ids=[
        "default",
        "three products a step",
        "few k tiles",
        "gathered",
        "splits",
        "splits of many stages",
        "splits, uneven and gathered",
    ],
)
def test_ptxas_keeps_products_asynchronous(
    operator: Operator, changes: dict[str, Any], tmp_path: Path
) -> None:
    """Where it finds that registers are touched while a product is under way, it says that it has
    products wait for each other (C7510), or that it adds waits (C7517) or fences (C7519)."""
    source = tmp_path / "kernel.cu"
    program = SKETCH.program(operator, TARGET, config_of(operator, **changes))
    source.write_text(cuda_source(program, TARGET.to_tvm()))
    command = [nvcc(), *options_for("sm_90"), "-o", str(tmp_path / "kernel.cubin"), str(source)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "Used" in done.stderr
    assert not re.findall(r"C75\d\d|serialized", done.stderr)


@needs_nvcc
def test_it_is_made_of_the_instructions_that_it_is_meant_to_be(tmp_path: Path) -> None:
    """Of the default for a large product: two warpgroups with 64x256 each, four steps of 16."""
    config = SKETCH.default(LARGE, TARGET)
    source = cuda_source(SKETCH.program(LARGE, TARGET, config), TARGET.to_tvm())
    text = ptx_of(source, tmp_path, "sm_90a")

    def count(pattern: str) -> int:
        return len(re.findall(pattern, text))

    assert count(r"wgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.bf16\.bf16") == 4
    assert count(r"wgmma\.fence") == count(r"wgmma\.commit_group") == 1
    assert count(r"wgmma\.wait_group\.sync\.aligned 1;") == 1
    assert count(r"wgmma\.wait_group\.sync\.aligned 0;") == 1
    assert count(r"fence\.proxy\.async") == 1
    copies = (128 + 256) * 64 // 8 // 256  # of 16 bytes by 256 threads, of both operands' tiles
    # Before the loop and in it; nvcc may or may not unroll the two before it.
    of_16_bytes = count(r"cp\.async\.cg\.shared\.global \[%\w+\], \[%\w+\], 16;")
    assert of_16_bytes in (2 * copies, 3 * copies)
    assert count(r"cp\.async\.c[ag]\.") == of_16_bytes
    assert count(r"ldmatrix|mma\.sync|\.local") == 0


@needs_nvcc
@pytest.mark.parametrize("stages", [3, 4])
def test_descriptors_change_in_their_low_words_alone(stages: int, tmp_path: Path) -> None:
    """On a GPU the code for three stages gave wrong results when sums had 64 bits: ``ptxas`` of
    CUDA 13.0 did not set the high word of the right descriptor."""
    program = SKETCH.program(LARGE, TARGET, config_of(LARGE, stages=stages, pending=0))
    text = ptx_of(cuda_source(program, TARGET.to_tvm()), tmp_path, "sm_90a")
    made = dict(re.findall(r"or\.b64\s+(%rd\d+), (%rd\d+), \d+;", text))
    widened = set(re.findall(r"cvt\.u64\.u32\s+(%rd\d+), %r\d+;", text))
    products = re.findall(r"wgmma\.mma_async[^{]*\{[^}]*\}, (%rd\d+), (%rd\d+),", text)
    assert len(products) == 4
    assert {made.get(each) for pair in products for each in pair} <= widened


def test_it_is_for_16_bits_on_hopper_alone() -> None:
    product = matmul(m=64, n=64, k=64, dtype="float16")
    archs = ("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120")
    supporting = [a for a in archs if SKETCH.supports(product, Target("cuda", arch=a))]
    assert supporting == ["sm_90", "sm_90a"]
    assert not SKETCH.supports(product, Target())
    assert not SKETCH.supports(matmul(m=64, n=64, k=64), TARGET)
    assert not SKETCH.supports(conv2d(ci=8, h=8, w=8, co=8, kernel=1, dtype="float16"), TARGET)


def test_it_comes_after_those_that_run_everywhere() -> None:
    names = [it.name for it in sketches_for(LARGE, TARGET)]
    assert names.index("cuda_tensor_gemm") < names.index("cuda_wgmma_gemm")
    assert sketch_for(LARGE, TARGET).name == "cuda_tiled"


@pytest.mark.parametrize(
    ("size", "tile"),
    [(4096, (128, 256)), (1536, (128, 128)), (1024, (64, 128)), (512, (64, 32)), (16, (64, 32))],
)
def test_the_default_has_tiles_for_all_multiprocessors(size: int, tile: tuple[int, int]) -> None:
    default = SKETCH.default(matmul(m=size, n=size, k=size, dtype="float16"), TARGET)
    assert (default["block_m"], default["block_n"]) == tile


@pytest.mark.parametrize(
    ("operator", "changes", "reason"),
    [
        (LARGE, {"block_m": 256, "block_n": 256, "warpgroups": 4, "stages": 3}, "shared memory"),
        (LARGE, {"block_m": 256, "block_n": 128, "warpgroups": 1, "stages": 3}, None),
        (
            matmul(m=301, n=301, k=301, dtype="float16"),
            {"block_m": 128, "block_n": 256, "warpgroups": 2, "stages": 3},
            "registers a thread",
        ),
    ],
    ids=["shared memory", "not in the space", "registers"],
)
def test_what_is_too_much_is_refused(
    operator: Operator, changes: dict[str, Any], reason: str | None
) -> None:
    config = SKETCH.default(operator, TARGET).replace(**changes)
    assert SKETCH.space(operator, TARGET).contains(config) == (reason is not None)
    with pytest.raises(InstantiationError, match=reason or "block_m \\* block_n"):
        SKETCH.program(operator, TARGET, config)
