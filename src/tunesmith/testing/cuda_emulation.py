"""Runs the CUDA code of a program on the CPU, thread by thread: is it right, where no GPU is?

The generated source is compiled as C++, with the built-in variables of CUDA as plain ones and
shared memory as static memory. The threads of a block are fibers, which take turns at each barrier;
blocks run one after the other. So what a barrier is missing for shows as a wrong result, as far as
it matters in that order; threads that do not all come to the same barrier are an error. Memory is
NaN until it is written. It is slow, and knows neither warps nor half precision: for small
operators in float32, float64, int8 and int32.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tunesmith.cuda_compiler import cuda_source, launch_extents
from tunesmith.errors import MissingDependencyError, TunesmithError
from tunesmith.operators import Operator
from tunesmith.target import Target

Array = npt.NDArray[Any]

_PRELUDE = r"""
#include <cmath>
#include <cstring>
#include <ucontext.h>
#include <algorithm>
#include <vector>
using std::min;
using std::max;
static float rsqrtf(float x) { return 1 / std::sqrt(x); }
static double rsqrt(double x) { return 1 / std::sqrt(x); }
struct dim3 { int x = 0, y = 0, z = 0; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;
struct Fiber { ucontext_t context; dim3 thread; int place; int lane; char* slots; bool in_warp; };
static ucontext_t scheduler;
static Fiber* current;
static long block_number;
static void barrier(int line, bool in_warp = false) {
  current->place = line;
  current->in_warp = in_warp;
  swapcontext(&current->context, &scheduler);
}
// Lanes leave what they have in the slots of their warp, and take what they are asked for.
template <typename T> static T shuffled(T value, int lane, int line) {
  std::memcpy(current->slots + 8 * current->lane, &value, sizeof value);
  barrier(line, true);
  if (lane >= 0 && lane < 32) std::memcpy(&value, current->slots + 8 * lane, sizeof value);
  barrier(line, true);
  return value;
}
#define __activemask() 0xFFFFFFFFu
#define __shfl_sync(mask, value, lane, width) shuffled(value, (lane) % 32, __LINE__)
#define __shfl_down_sync(mask, value, by, width) shuffled(value, current->lane + (by), __LINE__)
#define __syncthreads() barrier(__LINE__)
// Of a block's shared memory, by the first thread that comes here.
#define UNWRITTEN(array) \
  { \
    static long of_block = -1; \
    if (of_block != block_number) std::memset(array, 0xFF, sizeof array); \
    of_block = block_number; \
  }
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
template <int N, typename T> struct alignas(N * sizeof(T)) Vector { T x, y, z, w; };
template <typename T> struct alignas(2 * sizeof(T)) Vector<2, T> { T x, y; };
using float2 = Vector<2, float>;
using float4 = Vector<4, float>;
using double2 = Vector<2, double>;
using double4 = Vector<4, double>;
using int2 = Vector<2, int>;
using int4 = Vector<4, int>;
using char2 = Vector<2, signed char>;
using char4 = Vector<4, signed char>;
static float2 make_float2(float x, float y) { return {x, y}; }
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static double2 make_double2(double x, double y) { return {x, y}; }
static double4 make_double4(double x, double y, double z, double w) { return {x, y, z, w}; }
static char2 make_char2(signed char x, signed char y) { return {x, y}; }
static char4 make_char4(signed char x, signed char y, signed char z, signed char w) {
  return {x, y, z, w};
}
static int2 make_int2(int x, int y) { return {x, y}; }
static int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
"""

# Fibers run to the next barrier, in turn, until all have ended. Every second turn is backwards,
# so that a missing barrier has a chance to show. Where a fiber has come to is a line, or the end.
_LAUNCH = r"""
static const int END = -1;
static const size_t STACK = 65536, FILLED = 8192;
static void (*body)();
static void enter() {
  body();
  current->in_warp = false;
  current->place = END;
  swapcontext(&current->context, &scheduler);
}
// Runs a warp to the next barrier of its block.
static bool warp(std::vector<Fiber>& fibers, size_t number, bool backwards) {
  const size_t first = number * 32, end = std::min(first + 32, fibers.size());
  do {
    for (size_t i = first; i < end; ++i) {
      current = &fibers[backwards ? end - 1 - (i - first) : i];
      threadIdx = current->thread;
      swapcontext(&scheduler, &current->context);
    }
    for (size_t i = first; i < end; ++i)
      if (fibers[i].place != fibers[first].place) return false;
  } while (fibers[first].in_warp);
  return true;
}
static bool block(std::vector<Fiber>& fibers, std::vector<char>& stacks) {
  ++block_number;
  for (size_t i = 0; i < fibers.size(); ++i) {
    char* stack = &stacks[i * STACK];
    std::memset(stack + STACK - FILLED, 0xFF, FILLED);
    getcontext(&fibers[i].context);
    fibers[i].context.uc_stack.ss_sp = stack;
    fibers[i].context.uc_stack.ss_size = STACK;
    fibers[i].context.uc_link = nullptr;
    makecontext(&fibers[i].context, enter, 0);
  }
  for (int turn = 0;; ++turn) {
    const size_t warps = (fibers.size() + 31) / 32;
    for (size_t i = 0; i < warps; ++i)
      if (!warp(fibers, turn % 2 ? warps - 1 - i : i, turn % 2)) return false;
    for (const Fiber& fiber : fibers)
      if (fiber.place != fibers[0].place) return false;
    if (fibers[0].place == END) return true;
  }
}
static bool launch() {
  std::vector<Fiber> fibers;
  for (int z = 0; z < blockDim.z; ++z)
    for (int y = 0; y < blockDim.y; ++y)
      for (int x = 0; x < blockDim.x; ++x) {
        Fiber fiber;
        fiber.thread.x = x; fiber.thread.y = y; fiber.thread.z = z;
        fibers.push_back(fiber);
      }
  std::vector<char> stacks(fibers.size() * STACK), slots(fibers.size() * 8 + 256, 0xFF);
  for (size_t i = 0; i < fibers.size(); ++i) {
    fibers[i].lane = i % 32;
    fibers[i].slots = &slots[i / 32 * 256];
  }
  for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
        if (!block(fibers, stacks)) return false;
  return true;
}
"""

_SHARED = re.compile(r"__shared__ (alignas\(\d+\) )?([\w ]+? (\w+)\[\d+\];)")
_SIGNATURE = re.compile(r"__global__ void .*?(\w+)\(([^)]*)\);")


def run_cuda(
    operator: Operator, target: Target, program: Any, inputs: Sequence[Array], output: Array
) -> None:
    """Fill ``output`` with what the CUDA code of a program computes from the inputs.

    Raises ``MissingDependencyError`` without a C++ compiler, ``TunesmithError`` for code that it
    does not compile, and for threads that do not come to the same barrier.
    """
    source = cuda_source(program, target.to_tvm())
    run_cuda_source(operator, program, source, inputs, output)


def run_cuda_source(
    operator: Operator, program: Any, source: str, inputs: Sequence[Array], output: Array
) -> None:
    """The same with the code at hand, which may have been changed. Raises like ``run_cuda``."""
    signatures = _SIGNATURE.findall(source)
    if len(signatures) != 1:
        raise TunesmithError(f"the program has {len(signatures)} CUDA functions: it must have one")
    name, parameters = signatures[0]
    names = [word.split()[-1].strip("*").removesuffix("_ptr") for word in parameters.split(",")]
    tensors = dict(zip((argument.name for argument in operator.arguments), inputs, strict=True))
    unknown = [each for each in names if each not in tensors]
    if len(unknown) != 1 or len(names) != len(tensors) + 1:
        raise TunesmithError(f"the CUDA function takes {', '.join(names)}: not inputs and a result")
    ordered = [tensors.get(each, output) for each in names]
    library = _compiled(source, name, parameters, launch_extents(program))
    if not library.run(*(array.ctypes.data_as(ctypes.c_void_p) for array in ordered)):
        raise TunesmithError("threads of a block do not come to the same barrier")


def _compiled(source: str, name: str, parameters: str, extents: dict[str, int]) -> Any:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise MissingDependencyError("a C++ compiler is needed to run CUDA code on the CPU")
    sizes = "".join(
        f"{variable}.{axis} = {extents.get(f'{tag}.{axis}', 1)};"
        for variable, tag in (("gridDim", "blockIdx"), ("blockDim", "threadIdx"))
        for axis in "xyz"
    )
    words = [word.replace("__restrict__", "").strip() for word in parameters.split(",")]
    kept = "".join(f"static {word};" for word in words)
    given = ", ".join(re.sub(r"(\w+)$", r"\1_", word) for word in words)
    variables = [word.split()[-1].strip("*") for word in words]
    assigned = "".join(f"{variable} = {variable}_;" for variable in variables)
    call = f"{name}({', '.join(variables)});"
    entry = (
        f"{kept}\nstatic void call() {{ {call} }}\n"
        f'extern "C" int run({given}) {{ {assigned} {sizes} body = call; return launch(); }}\n'
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "cuda.h").write_text("")  # which the source includes and needs nothing of
        # Shared memory is that of the one block that runs; C++ wants its words in this order.
        source = _SHARED.sub(r"\1static \2 UNWRITTEN(\3)", source)
        (path / "kernel.cpp").write_text(_PRELUDE + source + _LAUNCH + entry)
        command = [compiler, "-O1", "-w", "-shared", "-fPIC", "-std=c++17", f"-I{folder}"]
        done = subprocess.run(
            [*command, "-o", str(path / "kernel.so"), str(path / "kernel.cpp")],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise TunesmithError(f"the CUDA code is no C++: {done.stderr.strip()[:500]}")
        return ctypes.CDLL(str(path / "kernel.so"))
