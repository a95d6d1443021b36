"""What a warp does together on the emulated GPU, against the layouts of the PTX ISA written down by
hand; and what a GPU would get wrong is wrong here, too."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.cuda.lowering import CudaCode, Function, Launch
from tunesmith.errors import TunesmithError
from tunesmith.testing.emulated_gpu.in_process import run_cuda_code

Array = npt.NDArray[Any]

# "Matrix fragments for mma.m16n8k16": a thread's elements are read from and written to memory one
# by one, by the formulas for row and column of each.
MMA = """
#include <cuda.h>
extern "C" __global__ void main_kernel(TYPE* a, TYPE* b, float* c, float* d) {
  int lane = threadIdx.x, group = lane >> 2, member = lane % 4;
  uint32_t left[4] = {0, 0, 0, 0}, right[2] = {0, 0};
  for (int i = 0; i < 8; ++i) {
    int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
    int column = member * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    left[i / 2] |= uint32_t(((uint16_t*)a)[row * 16 + column]) << (i % 2 * 16);
  }
  for (int i = 0; i < 4; ++i) {
    int row = member * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    right[i / 2] |= uint32_t(((uint16_t*)b)[row * 8 + group]) << (i % 2 * 16);
  }
  float sums[4];
  for (int i = 0; i < 4; ++i)
    sums[i] = c[(i < 2 ? group : group + 8) * 8 + member * 2 + (i & 1)];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.KIND.KIND.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(SUM0), "=f"(SUM1), "=f"(SUM2), "=f"(SUM3) : "r"(LEFT0), "r"(LEFT1), "r"(LEFT2), "r"(LEFT3), "r"(RIGHT0), "r"(RIGHT1), "f"(SUM0), "f"(SUM1), "f"(SUM2), "f"(SUM3));
  for (int i = 0; i < 4; ++i)
    d[(i < 2 ? group : group + 8) * 8 + member * 2 + (i & 1)] = sums[i];
}
"""  # noqa: E501 - a statement of PTX has one line

# Each lane stores its two elements of each matrix at places of its own.
LDMATRIX = """
#include <cuda.h>
extern "C" __global__ void main_kernel(half* a, uint* d) {
  __shared__ alignas(16) half tile[256];
  for (int i = 0; i < 8; ++i) tile[threadIdx.x * 8 + i] = a[threadIdx.x * 8 + i];
  __syncthreads();
  uint32_t r0, r1, r2, r3, address = __cvta_generic_to_shared(&tile[threadIdx.x * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4TURNED.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(address) : "memory");
  d[threadIdx.x * 4] = r0; d[threadIdx.x * 4 + 1] = r1;
  d[threadIdx.x * 4 + 2] = r2; d[threadIdx.x * 4 + 3] = r3;
}
"""  # noqa: E501

# Two groups of copies, of which so many are waited for; of the second one not all is read.
COPIES = """
#include <cuda.h>
extern "C" __global__ void main_kernel(float* a, float* d) {
  extern __shared__ __align__(64) float shared[];
  uint32_t to = __cvta_generic_to_shared(&shared[threadIdx.x * 8]), size = 12;
  const void* from = a + threadIdx.x * 8;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
  asm volatile("cp.async.commit_group;" : : );
  to = __cvta_generic_to_shared(&shared[threadIdx.x * 8 + 4]);
  from = a + threadIdx.x * 8 + OFFSET;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(from), "r"(size) : "memory");
  asm volatile("cp.async.commit_group;" : : );
  WAIT
  for (int i = 0; i < 8; ++i) d[threadIdx.x * 8 + i] = shared[threadIdx.x * 8 + i];
}
"""  # noqa: E501


def run(source: str, *arguments: Array, shared_bytes: int = 0) -> Array:
    """What a function of one warp leaves in its last argument."""
    launch = Launch(
        "main_kernel", (1, 1, 1), (32, 1, 1), shared_bytes, tuple(range(len(arguments)))
    )
    return run_cuda_code(CudaCode(source, {"main": Function((launch,))}), arguments)


def with_registers(source: str) -> str:
    """The registers of a statement of PTX are variables, of which it names the last ones."""
    for name, variable in (("SUM", "sums"), ("LEFT", "left"), ("RIGHT", "right")):
        for number in range(4):
            source = source.replace(f"{name}{number}", f"{variable}_{number}")
    kinds = {"sums": "float", "left": "uint32_t", "right": "uint32_t"}
    declared = "".join(
        f"  {kinds[variable]} {variable}_{number} = {variable}[{number}];\n"
        for variable, count in (("sums", 4), ("left", 4), ("right", 2))
        for number in range(count)
    )
    kept = "".join(f"  sums[{number}] = sums_{number};\n" for number in range(4))
    before, asm, after = source.partition("  asm volatile")
    statement, end, rest = after.partition(";\n")
    return before + declared + asm + statement + end + kept + rest


@pytest.mark.parametrize(
    ("kind", "name", "dtype"),
    [("f16", "half", np.float16), ("bf16", "nv_bfloat16", ml_dtypes.bfloat16)],
    ids=["float16", "bfloat16"],
)
def test_mma_multiplies_matrices(kind: str, name: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((16, 16), (16, 8)))
    c = rng.standard_normal((16, 8)).astype(np.float32)
    source = with_registers(MMA.replace("TYPE", name).replace("KIND", kind))
    found = run(source, a, b, c, np.full((16, 8), np.nan, np.float32))
    expected = a.astype(np.float64) @ b.astype(np.float64) + c
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("turned", ["", ".trans"])
def test_ldmatrix_gives_each_lane_two_neighbours(turned: str) -> None:
    """Thread t has row t / 4, columns 2 (t mod 4) and the next one, of matrices of eight rows."""
    values = np.arange(256, dtype=np.float16)
    found = run(LDMATRIX.replace("TURNED", turned), values, np.zeros((32, 4), np.uint32))
    matrices = values.reshape(4, 8, 8)
    expected = matrices.transpose(0, 2, 1) if turned else matrices
    for lane in range(32):
        pairs = found[lane].view(np.float16).reshape(4, 2)
        column = lane % 4 * 2
        np.testing.assert_array_equal(pairs, expected[:, lane // 4, column : column + 2])


def copies(wait: str, offset: int = 4) -> Array:
    """Eight numbers of each of 32 threads: of two groups of copies, four each."""
    numbers = np.arange(32 * 8 + 8, dtype=np.float32)
    source = COPIES.replace("WAIT", wait).replace("OFFSET", str(offset))
    return run(source, numbers, np.zeros((32, 8), np.float32), shared_bytes=32 * 32)


def test_copies_are_there_when_they_were_waited_for() -> None:
    found = copies('asm volatile("cp.async.wait_group 0;" : : : "memory");')
    expected = np.arange(256, dtype=np.float32).reshape(32, 8)
    expected[:, 7] = 0  # the last of four numbers is beyond the bytes to be read
    np.testing.assert_array_equal(found, expected)


def test_copies_are_not_there_before() -> None:
    found = copies('asm volatile("cp.async.wait_group 1;" : : : "memory");')
    np.testing.assert_array_equal(found[:, :4], np.arange(256).reshape(32, 8)[:, :4])
    assert np.isnan(found[:, 4:]).all()
    assert np.isnan(copies("")).all()


def test_a_copy_that_is_not_aligned_is_an_error() -> None:
    with pytest.raises(TunesmithError, match="not aligned"):
        copies('asm volatile("cp.async.wait_group 0;" : : : "memory");', offset=5)


def test_ptx_that_is_not_known_is_an_error() -> None:
    with pytest.raises(TunesmithError, match=r"does not know this PTX: cp\.async\.wait_all;"):
        copies('asm volatile("cp.async.wait_all;" : : : "memory");')


def test_a_warp_that_is_not_whole_cannot_multiply() -> None:
    source = with_registers(MMA.replace("TYPE", "half").replace("KIND", "f16"))
    launch = Launch("main_kernel", (1, 1, 1), (16, 1, 1), 0, (0, 1, 2, 3))
    half, single = np.zeros(256, np.float16), np.zeros(128, np.float32)
    with pytest.raises(TunesmithError):
        run_cuda_code(CudaCode(source, {"main": Function((launch,))}), [half, half, single, single])


CONVERT = """
#include <cuda.h>
extern "C" __global__ void main_kernel(float* a, TYPE* b, float* d) {
  for (int i = threadIdx.x; i < COUNT; i += 32) {
    b[i] = (TYPE)a[i];
    d[i] = (float)b[i];
  }
}
"""


@pytest.mark.parametrize(
    ("name", "dtype"), [("half", np.float16), ("nv_bfloat16", ml_dtypes.bfloat16)]
)
def test_numbers_of_16_bits_are_rounded_as_numpy_rounds_them(name: str, dtype: Any) -> None:
    """All numbers of the type, the middles between neighbours, and random ones."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    exact = bits.view(dtype).astype(np.float32)
    exact = np.sort(exact[np.isfinite(exact)])
    middles = (exact[1:].astype(np.float64) + exact[:-1]) / 2
    spread = np.random.default_rng(0).standard_normal(20_000) * 10.0 ** np.arange(-10, 10).repeat(
        1000
    )
    beyond = [np.inf, -np.inf, 65519.9, 65520.0, 3.4e38, -3.4e38]
    numbers = np.concatenate([exact, middles, spread, beyond]).astype(np.float32)
    found = run(
        CONVERT.replace("TYPE", name).replace("COUNT", str(numbers.size)),
        numbers,
        np.zeros(numbers.size, dtype),
        np.zeros_like(numbers),
    )
    with np.errstate(over="ignore"):
        expected = numbers.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
