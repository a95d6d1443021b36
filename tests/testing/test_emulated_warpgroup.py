"""What a warpgroup does on the emulated GPU, against the layouts of the PTX ISA written down by
hand; and what a GPU would get wrong is wrong here, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.cuda.lowering import CudaCode, Function, Launch
from tunesmith.errors import TunesmithError
from tunesmith.testing.emulated_gpu.in_process import run_cuda_code
from tunesmith.testing.emulated_gpu.nvcc import main

Array = npt.NDArray[Any]

ROWS, COLUMNS, DEPTH = 64, 128, 16
SUMS = COLUMNS // 2

# Both operands are copied to shared memory as they are to lie there, the right one behind the left
# one. A thread's sums go to places of its own.
COPY = "for (int i = threadIdx.x; i < ELEMENTS; i += 128) shared[i] = image[i];"
PUBLISH = 'asm volatile("fence.proxy.async.shared::cta;" : : : "memory");'
FENCE = 'asm volatile("wgmma.fence.sync.aligned;" : : : "memory");'
COMMIT = 'asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");'
WAIT = 'asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");'
PRODUCT = """
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.KIND.KIND {NUMBERS}, %64, %65, p, 1, 1, TURNED; }" : REGISTERS : "l"(left), "l"(right), "r"(add));
"""  # noqa: E501 - a statement of PTX has one line
KERNEL = f"""
#include <cuda.h>
extern "C" __global__ void main_kernel(TYPE* image, float* d) {{
  extern __shared__ __align__(1024) TYPE shared[];
  {COPY}
  {PUBLISH}
  __syncthreads();
  float sums[{SUMS}];
  for (int i = 0; i < {SUMS}; ++i) sums[i] = 1000;
  DECLARED
  uint32_t add = 1;
  uint64_t left = LEFTull + (__cvta_generic_to_shared(&shared[0]) >> 4);
  uint64_t right = RIGHTull + (__cvta_generic_to_shared(&shared[{ROWS * DEPTH}]) >> 4);
  {FENCE}
  {PRODUCT}
  {COMMIT}
  {WAIT}
  STORED
}}
"""

# Chunk c of row r lies in its place c xor this, in rows of so many elements ("128B, 64B and 32B
# swizzling" in the figures of the section "Shared Memory Matrix Layout").
ORDERS = {
    64: [0, 1, 2, 3, 4, 5, 6, 7],
    32: [0, 0, 1, 1, 2, 2, 3, 3],
    16: [0, 0, 0, 0, 1, 1, 1, 1],
}
MODES = {64: 1, 32: 2, 16: 3}


def laid_out(matrix: Array, width: int) -> Array:
    """Rows of a matrix in blocks of so many columns each, their chunks in the blocks' order."""
    blocks = []
    for block in np.split(matrix, range(width, matrix.shape[1], width), axis=1):
        for number, row in enumerate(block):
            chunks = row.reshape(-1, 8)
            blocks += [chunks[place ^ ORDERS[width][number % 8]] for place in range(len(chunks))]
    return np.concatenate(blocks)


def descriptor(mode: int, leading: int = 16, stride: int = 0, base: int = 0) -> int:
    """By the table of the section "Matrix Descriptor Format", at address 0."""
    return leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | mode << 62


def source(left: int, right: int, turned: str = "0, 0", kind: str = "f16") -> str:
    """The kernel; the registers of its statement of PTX are variables."""
    name = {"f16": "half", "bf16": "nv_bfloat16"}[kind]
    parts = {
        "NUMBERS": ", ".join(f"%{i}" for i in range(SUMS)),
        "REGISTERS": ", ".join(f'"+f"(sum_{i})' for i in range(SUMS)),
        "DECLARED": " ".join(f"float sum_{i} = sums[{i}];" for i in range(SUMS)),
        "STORED": " ".join(f"d[threadIdx.x * {SUMS} + {i}] = sum_{i};" for i in range(SUMS)),
        "ELEMENTS": str((ROWS + COLUMNS) * DEPTH),
        "LEFT": str(left),
        "RIGHT": str(right),
        "TURNED": turned,
        "KIND": kind,
        "TYPE": name,
    }
    text = KERNEL
    for part, words in parts.items():
        text = text.replace(part, words)
    return text


def run(text: str, image: Array, threads: int = 128) -> Array:
    """The sums, as the matrix that they are (the section "Register Fragments")."""
    bytes_of_image = (ROWS + COLUMNS) * DEPTH * 2
    launch = Launch("main_kernel", (1, 1, 1), (threads, 1, 1), bytes_of_image, (0, 1))
    code = CudaCode(text, {"main": Function((launch,))})
    kept = run_cuda_code(code, [image, np.zeros((128, SUMS), np.float32)])
    found = np.empty((ROWS, COLUMNS), np.float32)
    for thread in range(128):
        for number in range(SUMS):
            row = thread // 32 * 16 + thread % 32 // 4 + (8 if number % 4 >= 2 else 0)
            column = number // 4 * 8 + thread % 4 * 2 + number % 2
            found[row, column] = kept[thread, number]
    return found


def matrices(dtype: Any = np.float16) -> tuple[Array, Array]:
    """Rows of the left operand, columns of the right one."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, DEPTH)).astype(dtype) for size in (ROWS, COLUMNS))
    return a, b


# Both along the sum, in rows of 32 bytes: eight of them are 256 bytes.
PLAIN = descriptor(MODES[16], stride=256)


def plain_image() -> Array:
    a, b = matrices()
    return np.concatenate([laid_out(a, 16), laid_out(b, 16)])


def changed(before: str, after: str, count: int = 1, threads: int = 128) -> Array:
    """What the kernel computes after a change to it."""
    text = source(PLAIN, PLAIN)
    assert text.count(before) >= count
    return run(text.replace(before, after, count), plain_image(), threads)


def product() -> Array:
    a, b = matrices()
    expected: Array = a.astype(np.float64) @ b.astype(np.float64).T
    return expected


@pytest.mark.parametrize(
    ("kind", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)], ids=["f16", "bf16"]
)
def test_products_along_the_sum(kind: str, dtype: Any) -> None:
    a, b = matrices(dtype)
    image = np.concatenate([laid_out(a, 16), laid_out(b, 16)])
    expected = a.astype(np.float64) @ b.astype(np.float64).T + 1000
    np.testing.assert_allclose(run(source(PLAIN, PLAIN, kind=kind), image), expected, rtol=1e-6)


@pytest.mark.parametrize("width", [64, 32, 16])
def test_products_along_the_result(width: int) -> None:
    """Blocks of 16 rows follow each other, and of a block eight rows the next eight."""
    a, b = matrices()
    image = np.concatenate([laid_out(a.T, width), laid_out(b.T, width)])
    block, eight = DEPTH * width * 2, 8 * width * 2
    told = descriptor(MODES[width], leading=block, stride=eight)
    found = run(source(told, told, turned="1, 1"), image)
    np.testing.assert_allclose(found, product() + 1000, rtol=1e-6)


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_a_part_of_longer_rows(step: int) -> None:
    """Of rows of 64 elements the instruction reads 16, from a later address on."""
    a, b = matrices()
    spare = np.full((COLUMNS, 64), np.nan, np.float16)
    spare[:, step * DEPTH : (step + 1) * DEPTH] = b
    image = np.concatenate([laid_out(a, 16), laid_out(spare, 64)])
    right = descriptor(MODES[64], stride=1024) + step * DEPTH * 2 // 16
    text = source(PLAIN, right).replace(f"i < {(ROWS + COLUMNS) * DEPTH}", f"i < {image.size}")
    launch = Launch("main_kernel", (1, 1, 1), (128, 1, 1), image.nbytes, (0, 1))
    kept = run_cuda_code(
        CudaCode(text, {"main": Function((launch,))}), [image, np.zeros((128, SUMS), np.float32)]
    )
    np.testing.assert_allclose(kept[0, :2], product()[0, :2] + 1000, rtol=1e-6)
    assert np.isfinite(kept).all()


def test_the_predicate_says_whether_to_add() -> None:
    np.testing.assert_allclose(changed("add = 1", "add = 0"), product(), atol=1e-5)


def test_the_registers_of_a_product_hold_nothing_before_it_is_waited_for() -> None:
    assert np.isnan(changed(WAIT, "")).all()
    assert np.isnan(changed("wait_group.sync.aligned 0", "wait_group.sync.aligned 1")).all()
    assert np.isnan(changed(COMMIT, "")).all()


def test_registers_are_ordered_before_a_product() -> None:
    with pytest.raises(TunesmithError, match="not carried out like that"):
        changed(FENCE, "")


def test_registers_of_a_product_that_is_under_way_must_not_be_touched() -> None:
    with pytest.raises(TunesmithError, match="not carried out like that"):
        changed(WAIT, f"sum_3 = 0; {WAIT}")


def test_products_do_not_see_what_has_not_been_published() -> None:
    assert np.isnan(changed(PUBLISH, "")).all()


COPIES = """
  for (int i = threadIdx.x; i < ELEMENTS / 8; i += 128) {
    uint32_t to = __cvta_generic_to_shared(&shared[i * 8]);
    const void* from = image + i * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
  }
  asm volatile("cp.async.commit_group;" : : );
  asm volatile("cp.async.wait_group 0;" : : : "memory");
""".replace("ELEMENTS", str((ROWS + COLUMNS) * DEPTH))
STORES = COPY.replace("ELEMENTS", str((ROWS + COLUMNS) * DEPTH))


def test_each_thread_publishes_its_own_copies() -> None:
    text = source(PLAIN, PLAIN).replace(STORES, COPIES)
    found = run(text, plain_image())
    np.testing.assert_allclose(found, product() + 1000, rtol=1e-6)
    one_did_not = text.replace(PUBLISH, f"if (threadIdx.x != 5) {{ {PUBLISH} }}")
    found = run(one_did_not, plain_image())
    assert np.isnan(found).any()
    assert not np.isnan(found).all()
    before_they_were_there = text.replace(PUBLISH, "").replace(
        'asm volatile("cp.async.wait', PUBLISH + ' asm volatile("cp.async.wait'
    )
    assert np.isnan(run(before_they_were_there, plain_image())).all()


def test_operands_are_read_until_the_product_is_waited_for() -> None:
    overwritten = f"if (threadIdx.x == 127) shared[0] = 7; __syncthreads(); {PUBLISH} {WAIT}"
    found = changed(WAIT, overwritten)
    np.testing.assert_array_equal(np.isnan(found).any(axis=1), np.arange(ROWS) == 0)
    found = changed(WAIT, f"{WAIT} __syncthreads(); shared[threadIdx.x] = 7;")
    np.testing.assert_allclose(found, product() + 1000, rtol=1e-6)


def test_a_copy_must_not_begin_where_a_product_reads() -> None:
    copy = (
        "uint32_t to = __cvta_generic_to_shared(&shared[threadIdx.x * 8]);"
        "const void* from = image + threadIdx.x * 8;"
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from));'
    )
    assert np.isnan(changed(WAIT, f"{copy} __syncthreads(); {WAIT}")).any()


@pytest.mark.parametrize(
    "told", [descriptor(0, stride=256), descriptor(3, stride=256, base=1)], ids=["none", "base"]
)
def test_layouts_that_are_not_known_are_an_error(told: int) -> None:
    with pytest.raises(TunesmithError, match="not carried out like that"):
        run(source(told, PLAIN), plain_image())


def test_a_product_outside_of_shared_memory_is_an_error() -> None:
    with pytest.raises(TunesmithError, match="outside of memory"):
        run(source(PLAIN, descriptor(3, stride=4096)), plain_image())


@pytest.mark.parametrize(
    "told", [descriptor(2, stride=256), descriptor(3, stride=512)], ids=["order", "stride"]
)
def test_a_wrong_layout_gives_wrong_results(told: int) -> None:
    found = run(source(told, PLAIN), plain_image())
    assert not np.allclose(found, product() + 1000, atol=0.1, rtol=0)


def test_memory_that_may_begin_anywhere_gives_wrong_results() -> None:
    """For the order of chunks is that of their addresses."""
    a, b = matrices()
    image = np.concatenate([laid_out(a.T, 64), laid_out(b.T, 64)])
    told = descriptor(1, leading=DEPTH * 128, stride=1024)
    text = source(told, told, turned="1, 1")
    np.testing.assert_allclose(run(text, image), product() + 1000, rtol=1e-6)
    found = run(text.replace("__align__(1024)", "__align__(128)"), image)
    assert not np.allclose(found, product() + 1000, atol=0.1, rtol=0)


@pytest.mark.parametrize(
    ("before", "after", "threads"),
    [
        ("uint32_t add = 1", "uint32_t add = threadIdx.x != 3", 128),
        ("uint32_t add = 1", "uint32_t add = threadIdx.x / 32 != 3", 128),
        (" 128)", " 64)", 64),
    ],
    ids=["lanes that differ", "warps that differ", "two warps"],
)
def test_four_warps_do_the_same(before: str, after: str, threads: int) -> None:
    with pytest.raises(TunesmithError, match="not carried out like that"):
        changed(before, after, 1 if threads == 128 else 0, threads)


@pytest.mark.parametrize(("arch", "status"), [("sm_90a", 0), ("sm_90", 1), ("sm_100a", 1)])
def test_it_is_compiled_for_the_one_instruction_set_that_has_it(
    arch: str, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel, cubin = tmp_path / "kernel.cu", tmp_path / "kernel.cubin"
    kernel.write_text(source(PLAIN, PLAIN))
    assert main(["-cubin", f"-arch={arch}", "-o", str(cubin), str(kernel)]) == status
    assert ("not supported on .target" in capfd.readouterr().err) == bool(status)


@pytest.mark.parametrize(
    "after",
    ["m64n128k8.f32.tf32.tf32", "m64n128k16.f16.f16.f16", "sp.sync.aligned.m64n128k32.f32.f16.f16"],
)
def test_products_that_are_not_known_are_an_error(after: str) -> None:
    with pytest.raises(TunesmithError, match="does not know this PTX"):
        changed("m64n128k16.f32.f16.f16", after)
