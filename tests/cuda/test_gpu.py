"""A GPU with programs and memory, as far as an emulated one shows it."""

from __future__ import annotations

from ctypes import byref, c_size_t

import numpy as np
import pytest

from tests.cuda.test_lowering import SIZE, TARGET, two_stages
from tests.emulated import needs_compiler
from tunesmith.cuda.driver import OUT_OF_MEMORY, CudaError
from tunesmith.cuda.gpu import Gpu
from tunesmith.cuda.gpu_program import GpuProgram
from tunesmith.cuda.lowering import Function, Launch, cuda_code
from tunesmith.testing.emulated_gpu.in_process import emulated_gpu
from tunesmith.testing.emulated_gpu.nvcc import compile_emulated

pytestmark = needs_compiler

COUNTER = """
extern "C" __global__ void main_kernel(int* __restrict__ count) { *count = *count + 1; }
"""


@pytest.fixture
def gpu() -> Gpu:
    return emulated_gpu()


def counter(gpu: Gpu) -> tuple[GpuProgram, int]:
    """A program that counts its calls, and where."""
    launch = Launch("main_kernel", (1, 1, 1), (1, 1, 1), 0, (0,))
    code = compile_emulated(COUNTER, "sm_90")
    return GpuProgram(gpu, code, {"main": Function((launch,))}), gpu.upload(np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("calls", "repeats", "flush", "made"),
    # One call, or one graph, comes before those that are timed.
    [
        (1, 1, False, 1 + 1),
        (7, 3, False, 1 + 3 * 7),
        (10, 3, False, 10 + 3 * 10),
        (250, 2, False, 100 + 2 * 300),
        (4, 3, True, 3 * 4),
        (500, 1, True, 20),
    ],
)
def test_so_many_calls_are_timed(
    gpu: Gpu, calls: int, repeats: int, flush: bool, made: int
) -> None:
    program, count = counter(gpu)
    seconds = program.seconds("main", [count], calls, repeats, flush)
    assert len(seconds) == repeats
    assert all(each > 0.0 for each in seconds)
    assert gpu.read(count, np.zeros(1, np.int32)) == made
    program.close()


def test_memory_comes_back_as_it_was_and_is_free_again(gpu: Gpu) -> None:
    array = np.arange(10, dtype=np.float16).reshape(2, 5)
    address = gpu.upload(array.T)
    np.testing.assert_array_equal(gpu.read(address, array.T.copy()), array.T)
    gpu.free(address)
    other = gpu.upload(np.zeros_like(array))
    origin = gpu.upload(array)
    gpu.copy(other, origin, array.nbytes)
    np.testing.assert_array_equal(gpu.read(other, array), array)


def test_too_much_memory_is_an_error_that_does_not_stay(gpu: Gpu) -> None:
    with pytest.raises(CudaError, match="out of memory") as caught:
        gpu.allocate(1 << 50)
    assert caught.value.code == OUT_OF_MEMORY
    assert not caught.value.sticky
    gpu.free(gpu.allocate(1))


def test_code_of_another_generation_is_refused(gpu: Gpu) -> None:
    code = cuda_code(two_stages(), TARGET.to_tvm())
    with pytest.raises(CudaError, match="no kernel image") as caught:
        GpuProgram(gpu, compile_emulated(code.source, "sm_80"), code.functions)
    assert not caught.value.sticky


def test_workspaces_are_the_programs_own(gpu: Gpu) -> None:
    code = cuda_code(two_stages(), TARGET.to_tvm())
    cubin = compile_emulated(code.source, "sm_90")
    programs = [GpuProgram(gpu, cubin, code.functions) for _ in range(2)]
    a = np.ones((SIZE, SIZE), np.float32)
    where = gpu.upload(a)
    results = [gpu.upload(np.full_like(a, np.nan)) for _ in programs]
    for program, result in zip(programs, results, strict=True):
        program.call("main", [where, result])
    for result in results:
        np.testing.assert_array_equal(gpu.read(result, a), 3 * a)
    for program in programs:
        program.close()


def test_a_program_that_cannot_have_its_memory_gives_back_what_it_had(gpu: Gpu) -> None:
    code = cuda_code(two_stages(), TARGET.to_tvm())
    cubin = compile_emulated(code.source, "sm_90")
    before = gpu.cuda.number("cuMemGetInfo_v2", c_size_t, byref(c_size_t()))
    greedy = Function(code.functions["main"].launches, workspaces=(1 << 20, 1 << 50))
    with pytest.raises(CudaError, match="out of memory"):
        GpuProgram(gpu, cubin, {"main": greedy})
    assert gpu.cuda.number("cuMemGetInfo_v2", c_size_t, byref(c_size_t())) == before


def test_what_a_program_leaves_unwritten_is_nothing_that_could_pass(gpu: Gpu) -> None:
    workspace = Function((Launch("main_kernel", (1, 1, 1), (1, 1, 1), 0, (0, 1)),), (4,))
    source = COUNTER.replace("int* __restrict__ count)", "float* __restrict__ out, float* space)")
    source = source.replace("*count = *count + 1", "*out = *space")
    program = GpuProgram(gpu, compile_emulated(source, "sm_90"), {"main": workspace})
    out = gpu.upload(np.zeros(1, np.float32))
    program.call("main", [out])
    assert np.isnan(gpu.read(out, np.zeros(1, np.float32)))
