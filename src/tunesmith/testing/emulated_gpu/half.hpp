// The types of 16 bits: values of float32 that are rounded to nearest, ties to even, when stored.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

// A number with so many bits of exponent and of fraction, in the format of IEEE 754.
template <int EXPONENT, int FRACTION> struct alignas(2) Float16 {
  uint16_t bits;

  Float16() = default;
  template <typename T> Float16(T value) : bits(rounded(static_cast<float>(value))) {}
  Float16(const volatile Float16& other) : bits(other.bits) {}
  Float16(const Float16& other) = default;
  Float16& operator=(const Float16& other) = default;
  void operator=(const Float16& other) volatile { bits = other.bits; }
  operator float() const {
    const int exponent = bits >> FRACTION & MOST, fraction = bits & ((1 << FRACTION) - 1);
    const float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == MOST) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(float(fraction), 1 - BIAS - FRACTION);
    return sign * std::ldexp(float(fraction + (1 << FRACTION)), exponent - BIAS - FRACTION);
  }

  static const int MOST = (1 << EXPONENT) - 1, BIAS = MOST / 2;
  static uint16_t rounded(float value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double size = std::fabs(double(value));
    if (size != size) return sign | 0x7FFF;
    int exponent = 0;
    if (size > 0 && !std::isinf(size)) exponent = std::max(std::ilogb(size), 1 - BIAS);
    // Steps of this size are what can be stored there; nearbyint rounds ties to even.
    const double step = std::ldexp(1.0, exponent - FRACTION);
    const double steps = std::isinf(size) ? INFINITY : std::nearbyint(size / step);
    const double largest = std::ldexp(2.0 - std::ldexp(1.0, -FRACTION), BIAS);
    if (steps * step > largest) return sign | MOST << FRACTION;
    if (steps == 0) return sign;
    if (steps < (1 << FRACTION)) return sign | uint16_t(steps);  // less than the least normal one
    // A carry into the next power of two is right as it is.
    return sign | uint16_t(((exponent + BIAS - 1) << FRACTION) + int(steps));
  }
};

using half = Float16<5, 10>;
using nv_bfloat16 = Float16<8, 7>;
using __half = half;
using __nv_bfloat16 = nv_bfloat16;

template <typename T> struct alignas(4) Pair16 {
  T x, y;
  Pair16() = default;
  Pair16(T x, T y) : x(x), y(y) {}
};
using half2 = Pair16<half>;
using __half2 = half2;
using nv_bfloat162 = Pair16<nv_bfloat16>;
using __nv_bfloat162 = nv_bfloat162;
static inline half2 make_half2(half x, half y) { return {x, y}; }

template <int E, int F> static bool __hgt(Float16<E, F> a, Float16<E, F> b) { return float(a) > float(b); }
template <int E, int F> static bool __hlt(Float16<E, F> a, Float16<E, F> b) { return float(a) < float(b); }
static inline float __half2float(half x) { return x; }
static inline half __float2half(float x) { return x; }
static inline float __bfloat162float(nv_bfloat16 x) { return x; }
static inline nv_bfloat16 __float2bfloat16(float x) { return x; }
static inline half __float2half_rn(float x) { return x; }
static inline nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
