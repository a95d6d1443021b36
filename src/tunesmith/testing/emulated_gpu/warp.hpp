// What the threads of a warp do together, by the instructions' names in PTX: see translate.py.
//
// A lane leaves the address of its operands in its slot; all lanes meet, each works out its own part
// from the operands of all, and they meet again. Layouts are those of the PTX ISA.
#pragma once
#include <csignal>
#include <cstdint>
#include <deque>
#include <vector>
#include "half.hpp"

#define __syncwarp() barrier(__LINE__, true)

// Addresses of 32 bits: places in the memory given at the launch, or near a static variable. The
// former begins where the code can rely on, at its alignment and at no multiple of more than that.
static uint32_t dynamic_shared_start;
alignas(256) static char near_static_memory;
static const int64_t STATIC = int64_t(3) << 30, REACH = 1 << 20;
static uint32_t __cvta_generic_to_shared(const void* pointer) {
  const int64_t place = static_cast<const char*>(pointer) - dynamic_shared_memory;
  if (dynamic_shared_memory && place >= 0 && place < REACH) return dynamic_shared_start + uint32_t(place);
  return uint32_t(STATIC + (static_cast<const char*>(pointer) - &near_static_memory));
}
static char* shared_pointer(uint32_t address, uint32_t alignment) {
  if (address % alignment) raise(SIGBUS);
  if (address < REACH) return dynamic_shared_memory + (int64_t(address) - dynamic_shared_start);
  return &near_static_memory + (address - STATIC);
}

// Where lanes leave what the others need. It stands from the first meeting to the second.
template <typename T> struct Operands {
  explicit Operands(const T& own) : own(own) {
    if (blockDim.x * blockDim.y * blockDim.z % WARP) raise(SIGILL);  // not a whole warp
    const T* address = &this->own;
    std::memcpy(current->slots + SLOT * current->lane, &address, sizeof address);
    barrier(__LINE__, true);
  }
  ~Operands() { barrier(__LINE__, true); }
  const T& of(int lane) const {
    const T* address;
    std::memcpy(&address, current->slots + SLOT * lane, sizeof address);
    return *address;
  }
  T own;
};

// Lanes 8i to 8i + 7 name the rows of matrix i; each gets two neighbours of it.
template <int COUNT, bool TRANSPOSED> static void ldmatrix(uint32_t** results, uint32_t address) {
  Operands<uint32_t> rows(address);
  for (int matrix = 0; matrix < COUNT; ++matrix) {
    uint16_t pair[2];
    for (int place = 0; place < 2; ++place) {
      const int outer = current->lane / 4, inner = current->lane % 4 * 2 + place;
      const int row = TRANSPOSED ? inner : outer, column = TRANSPOSED ? outer : inner;
      const char* start = shared_pointer(rows.of(matrix * 8 + row), 16);
      std::memcpy(&pair[place], start + 2 * column, 2);
    }
    std::memcpy(results[matrix], pair, 4);
  }
}
template <bool T> static void ldmatrix_x1(uint32_t& a, uint32_t address) {
  uint32_t* results[] = {&a};
  ldmatrix<1, T>(results, address);
}
template <bool T> static void ldmatrix_x2(uint32_t& a, uint32_t& b, uint32_t address) {
  uint32_t* results[] = {&a, &b};
  ldmatrix<2, T>(results, address);
}
template <bool T>
static void ldmatrix_x4(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t address) {
  uint32_t* results[] = {&a, &b, &c, &d};
  ldmatrix<4, T>(results, address);
}

// Registers are columns of rows of eight lanes by four: rows 8 apart first, then columns 8 apart.
struct Factors { uint32_t left[4], right[2]; };
template <typename T> static float half_of(uint32_t pair, int place) {
  T value;
  value.bits = uint16_t(pair >> 16 * place);
  return value;
}
template <typename T>
static void mma_m16n8k16(
    float& d0, float& d1, float& d2, float& d3, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
    uint32_t b0, uint32_t b1, float c0, float c1, float c2, float c3) {
  Operands<Factors> factors({{a0, a1, a2, a3}, {b0, b1}});
  float* results[] = {&d0, &d1, &d2, &d3};
  const float before[] = {c0, c1, c2, c3};
  for (int place = 0; place < 4; ++place) {
    const int row = current->lane / 4 + place / 2 * 8, column = current->lane % 4 * 2 + place % 2;
    double sum = before[place];
    for (int k = 0; k < 16; ++k) {
      const int pair = k % 8 / 2;
      const uint32_t left = factors.of(row % 8 * 4 + pair).left[row / 8 + k / 8 * 2];
      const uint32_t right = factors.of(column * 4 + pair).right[k / 8];
      sum += double(half_of<T>(left, k % 2)) * half_of<T>(right, k % 2);
    }
    *results[place] = float(sum);
  }
}

// What a copy brings is there when it has been waited for, and not before: until then its place
// holds NaN, for it may be written to at any time.
struct Copy { char* to; const char* from; uint32_t bytes, read; };
struct Copies { std::vector<Copy> begun, done; std::deque<std::vector<Copy>> groups; };
static void unpublish(const Copy& copy);  // warpgroup.hpp
static int number_of_thread() {
  const Index& thread = current->thread;
  return (thread.z * blockDim.y + thread.y) * blockDim.x + thread.x;
}
static Copies& copies_of_thread() {
  static Copies copies[1024];
  static long of_block = -1;
  if (of_block != block_number)
    for (Copies& each : copies) each = Copies();
  of_block = block_number;
  return copies[number_of_thread()];
}
static void cp_async_of(uint32_t address, const void* from, uint32_t bytes, uint32_t read) {
  char* to = shared_pointer(address, bytes);
  if (reinterpret_cast<uintptr_t>(from) % bytes || read > bytes) raise(SIGBUS);
  std::memset(to, 0xFF, bytes);
  const Copy copy = {to, static_cast<const char*>(from), bytes, read};
  copies_of_thread().begun.push_back(copy);
  unpublish(copy);
}
static void cp_async_of(uint32_t address, const void* from, uint32_t bytes) {
  cp_async_of(address, from, bytes, bytes);
}
template <uint32_t BYTES>
static void cp_async(uint32_t address, const void* from, uint32_t read = BYTES) {
  cp_async_of(address, from, BYTES, read);
}
// TVM's copy of what may lie in padding.
template <typename... ZEROS>
static void cp_async_or_zeros(
    uint32_t address, const void* from, uint32_t bytes, int present, ZEROS...) {
  if (present) return cp_async_of(address, from, bytes);
  std::memset(shared_pointer(address, bytes), 0, bytes);
}
static void cp_async_commit_group() {
  Copies& copies = copies_of_thread();
  copies.groups.push_back(std::move(copies.begun));
  copies.begun.clear();
}
template <uint32_t PENDING> static void cp_async_wait_group() {
  Copies& copies = copies_of_thread();
  for (; copies.groups.size() > PENDING; copies.groups.pop_front())
    for (const Copy& copy : copies.groups.front()) {
      std::memset(copy.to, 0, copy.bytes);
      if (copy.read) std::memcpy(copy.to, copy.from, copy.read);
      copies.done.push_back(copy);
    }
}
