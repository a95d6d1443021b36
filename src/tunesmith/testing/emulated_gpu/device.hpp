// What CUDA C++ has built in, for code that a C++ compiler has translated: see translate.py.
//
// The threads of a block are fibers, which take turns at each barrier; blocks run one after the
// other. Memory is NaN until it is written.
#pragma once
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
using std::isfinite;
using std::isnan;
using std::max;
using std::min;

struct Index { int x = 0, y = 0, z = 0; };
static Index threadIdx, blockIdx, blockDim, gridDim;

struct Fiber { ucontext_t context; Index thread; int place; bool in_warp; int lane; char* slots; };
static ucontext_t scheduler;
static Fiber* current;
static long block_number;  // counts all blocks of all launches
static char* dynamic_shared_memory;
static size_t dynamic_shared_bytes;

static void barrier(int line, bool in_warp = false) {
  current->place = line;
  current->in_warp = in_warp;
  swapcontext(&current->context, &scheduler);
}
#define __syncthreads() barrier(__LINE__)

// Lanes leave what they have in the slots of their warp, and take what they are asked for.
static const int WARP = 32, SLOT = 8;
template <typename T> static T shuffled(T value, int lane, int line) {
  std::memcpy(current->slots + SLOT * current->lane, &value, sizeof value);
  barrier(line, true);
  if (lane >= 0 && lane < WARP) std::memcpy(&value, current->slots + SLOT * lane, sizeof value);
  barrier(line, true);
  return value;
}
#define __shfl_sync(mask, value, lane, width) shuffled(value, (lane) % WARP, __LINE__)
#define __shfl_down_sync(mask, value, by, width) shuffled(value, current->lane + (by), __LINE__)
static inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
static inline double rsqrt(double x) { return 1 / std::sqrt(x); }

// Of a block's shared memory, by the first thread that comes here.
#define UNWRITTEN(array) \
  { \
    static long of_block = -1; \
    if (of_block != block_number) std::memset(array, 0xFF, sizeof array); \
    of_block = block_number; \
  }

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

template <int N, typename T> struct alignas(N * sizeof(T)) Vector { T x, y, z, w; };
template <typename T> struct alignas(2 * sizeof(T)) Vector<2, T> { T x, y; };
#define VECTORS(name, type) \
  using name##2 = Vector<2, type>; \
  using name##4 = Vector<4, type>; \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
VECTORS(float, float)
VECTORS(double, double)
VECTORS(int, int)
VECTORS(longlong, long long)
VECTORS(uint, unsigned)
VECTORS(short, short)
VECTORS(ushort, unsigned short)
VECTORS(char, signed char)
VECTORS(uchar, unsigned char)

struct alignas(4) uint1 { unsigned x; };
#include "warp.hpp"
#include "warpgroup.hpp"

// A function of the CUDA code, as the emulated driver (driver.cpp) finds it.
struct Launch { unsigned grid[3], block[3]; unsigned shared_bytes; char* shared; };
struct Kernel { int (*run)(const Launch*, void** parameters); int parameters; const int* bytes; };

static const int END = -1;
static const size_t STACK = 65536, FILLED = 8192;
static void (*body)();

static void enter() {
  body();
  current->in_warp = false;
  current->place = END;
  swapcontext(&current->context, &scheduler);
}

// To the next barrier of the block: lanes meet at the shuffles on the way.
static bool run_warp(Fiber* fibers, int count, bool backwards) {
  do {
    for (int i = 0; i < count; ++i) {
      current = fibers + (backwards ? count - 1 - i : i);
      threadIdx = current->thread;
      swapcontext(&scheduler, &current->context);
    }
    for (int i = 0; i < count; ++i)
      if (fibers[i].place != fibers[0].place) return false;
  } while (fibers[0].in_warp);
  return true;
}

// Fibers run to the next barrier, in turn, until all have ended. Every second turn is backwards,
// so that a missing barrier has a chance to show. Where a fiber has come to is a line, or the end.
static bool run_block(Fiber* fibers, int count, char* stacks) {
  ++block_number;
  for (int i = 0; i < count; ++i) {
    char* stack = stacks + i * STACK;
    std::memset(stack + STACK - FILLED, 0xFF, FILLED);
    getcontext(&fibers[i].context);
    fibers[i].context.uc_stack.ss_sp = stack;
    fibers[i].context.uc_stack.ss_size = STACK;
    fibers[i].context.uc_link = nullptr;
    makecontext(&fibers[i].context, enter, 0);
  }
  for (int turn = 0;; ++turn) {
    const int warps = (count + WARP - 1) / WARP;
    for (int i = 0; i < warps; ++i) {
      const int first = (turn % 2 ? warps - 1 - i : i) * WARP;
      if (!run_warp(fibers + first, min(WARP, count - first), turn % 2)) return false;
    }
    for (int i = 0; i < count; ++i)
      if (fibers[i].place != fibers[0].place) return false;
    if (fibers[0].place == END) return true;
  }
}

// False where threads of a block do not come to the same barrier.
static bool run_grid(const Launch* launch, void (*of_a_thread)()) {
  body = of_a_thread;
  gridDim.x = launch->grid[0]; gridDim.y = launch->grid[1]; gridDim.z = launch->grid[2];
  blockDim.x = launch->block[0]; blockDim.y = launch->block[1]; blockDim.z = launch->block[2];
  int count = blockDim.x * blockDim.y * blockDim.z;
  Fiber* fibers = new Fiber[count];
  char* slots = static_cast<char*>(std::calloc(count + WARP, SLOT));
  for (int i = 0; i < count; ++i) {
    fibers[i].lane = i % WARP;
    fibers[i].slots = slots + SLOT * (i - i % WARP);
    fibers[i].thread.x = i % blockDim.x;
    fibers[i].thread.y = i / blockDim.x % blockDim.y;
    fibers[i].thread.z = i / blockDim.x / blockDim.y;
  }
  char* stacks = static_cast<char*>(std::malloc(count * STACK));
  bool together = true;
  for (int b = 0; together && b < gridDim.x * gridDim.y * gridDim.z; ++b) {
    blockIdx.x = b % gridDim.x;
    blockIdx.y = b / gridDim.x % gridDim.y;
    blockIdx.z = b / gridDim.x / gridDim.y;
    dynamic_shared_memory = launch->shared;
    dynamic_shared_bytes = launch->shared_bytes;
    if (launch->shared_bytes) std::memset(launch->shared, 0xFF, launch->shared_bytes);
    together = run_block(fibers, count, stacks);
  }
  std::free(stacks);
  std::free(slots);
  delete[] fibers;
  return together;
}
