/* Which instruction sets this processor has, by LLVM's names. */
#ifndef TUNESMITH_INSTRUCTIONS_H
#define TUNESMITH_INSTRUCTIONS_H

#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>

/* Which registers the system must save, as bits of XCR0: none, those of AVX, of AVX-512, of AMX. */
enum { TUNESMITH_ANY = 0, TUNESMITH_AVX = 0x6, TUNESMITH_AVX512 = 0xe6, TUNESMITH_AMX = 0x60000 };

enum { TUNESMITH_EAX, TUNESMITH_EBX, TUNESMITH_ECX, TUNESMITH_EDX };

/* The bit of the result of CPUID that says whether there are these instructions. */
typedef struct {
  const char* name;
  uint32_t leaf, subleaf;
  int part, bit;
  uint32_t saved;
} TunesmithInstructions;

static inline int tunesmith_cpuid_(uint32_t leaf, uint32_t subleaf, uint32_t parts[4]) {
  return __get_cpuid_count(leaf, subleaf, &parts[0], &parts[1], &parts[2], &parts[3]);
}

static inline uint32_t tunesmith_saved_registers_(void) {
  uint32_t parts[4], low, high;
  const uint32_t xsave_in_use = 1u << 27;
  if (!tunesmith_cpuid_(1, 0, parts) || !(parts[TUNESMITH_ECX] & xsave_in_use)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* AVX10 has versions instead of bits. */
static inline int tunesmith_has_avx10_(uint32_t version) {
  uint32_t parts[4];
  if (!tunesmith_cpuid_(7, 1, parts) || !(parts[TUNESMITH_EDX] >> 19 & 1)) return 0;
  return tunesmith_cpuid_(0x24, 0, parts) && (parts[TUNESMITH_EBX] & 0xff) >= version &&
         (tunesmith_saved_registers_() & TUNESMITH_AVX512) == TUNESMITH_AVX512;
}

/* 1 if the processor has them and the system saves their registers, else 0; -1 for unknown ones. */
static inline int tunesmith_find_instructions(const char* name) {
  static const TunesmithInstructions known[] = {
      {"sse2", 1, 0, TUNESMITH_EDX, 26, TUNESMITH_ANY},
      {"sse3", 1, 0, TUNESMITH_ECX, 0, TUNESMITH_ANY},
      {"ssse3", 1, 0, TUNESMITH_ECX, 9, TUNESMITH_ANY},
      {"sse4.1", 1, 0, TUNESMITH_ECX, 19, TUNESMITH_ANY},
      {"sse4.2", 1, 0, TUNESMITH_ECX, 20, TUNESMITH_ANY},
      {"popcnt", 1, 0, TUNESMITH_ECX, 23, TUNESMITH_ANY},
      {"fma", 1, 0, TUNESMITH_ECX, 12, TUNESMITH_AVX},
      {"avx", 1, 0, TUNESMITH_ECX, 28, TUNESMITH_AVX},
      {"f16c", 1, 0, TUNESMITH_ECX, 29, TUNESMITH_AVX},
      {"bmi", 7, 0, TUNESMITH_EBX, 3, TUNESMITH_ANY},
      {"bmi2", 7, 0, TUNESMITH_EBX, 8, TUNESMITH_ANY},
      {"avx2", 7, 0, TUNESMITH_EBX, 5, TUNESMITH_AVX},
      {"avx512f", 7, 0, TUNESMITH_EBX, 16, TUNESMITH_AVX512},
      {"avx512dq", 7, 0, TUNESMITH_EBX, 17, TUNESMITH_AVX512},
      {"avx512ifma", 7, 0, TUNESMITH_EBX, 21, TUNESMITH_AVX512},
      {"avx512cd", 7, 0, TUNESMITH_EBX, 28, TUNESMITH_AVX512},
      {"avx512bw", 7, 0, TUNESMITH_EBX, 30, TUNESMITH_AVX512},
      {"avx512vl", 7, 0, TUNESMITH_EBX, 31, TUNESMITH_AVX512},
      {"avx512vbmi", 7, 0, TUNESMITH_ECX, 1, TUNESMITH_AVX512},
      {"avx512vbmi2", 7, 0, TUNESMITH_ECX, 6, TUNESMITH_AVX512},
      {"avx512vnni", 7, 0, TUNESMITH_ECX, 11, TUNESMITH_AVX512},
      {"avx512bitalg", 7, 0, TUNESMITH_ECX, 12, TUNESMITH_AVX512},
      {"avx512vpopcntdq", 7, 0, TUNESMITH_ECX, 14, TUNESMITH_AVX512},
      {"avx512vp2intersect", 7, 0, TUNESMITH_EDX, 8, TUNESMITH_AVX512},
      {"avx512fp16", 7, 0, TUNESMITH_EDX, 23, TUNESMITH_AVX512},
      {"avx512bf16", 7, 1, TUNESMITH_EAX, 5, TUNESMITH_AVX512},
      {"avxvnni", 7, 1, TUNESMITH_EAX, 4, TUNESMITH_AVX},
      {"avxifma", 7, 1, TUNESMITH_EAX, 23, TUNESMITH_AVX},
      {"avxvnniint8", 7, 1, TUNESMITH_EDX, 4, TUNESMITH_AVX},
      {"avxneconvert", 7, 1, TUNESMITH_EDX, 5, TUNESMITH_AVX},
      {"avxvnniint16", 7, 1, TUNESMITH_EDX, 10, TUNESMITH_AVX},
      {"amx-bf16", 7, 0, TUNESMITH_EDX, 22, TUNESMITH_AMX},
      {"amx-tile", 7, 0, TUNESMITH_EDX, 24, TUNESMITH_AMX},
      {"amx-int8", 7, 0, TUNESMITH_EDX, 25, TUNESMITH_AMX},
      {"amx-fp16", 7, 1, TUNESMITH_EAX, 21, TUNESMITH_AMX},
      {"amx-complex", 7, 1, TUNESMITH_EDX, 8, TUNESMITH_AMX},
      {"amx-fp8", 0x1e, 1, TUNESMITH_EAX, 4, TUNESMITH_AMX},
      {"amx-tf32", 0x1e, 1, TUNESMITH_EAX, 6, TUNESMITH_AMX},
      {"amx-avx512", 0x1e, 1, TUNESMITH_EAX, 7, TUNESMITH_AMX},
      {"amx-movrs", 0x1e, 1, TUNESMITH_EAX, 8, TUNESMITH_AMX},
      {"lzcnt", 0x80000001u, 0, TUNESMITH_ECX, 5, TUNESMITH_ANY},
      {"sse4a", 0x80000001u, 0, TUNESMITH_ECX, 6, TUNESMITH_ANY},
      {"fma4", 0x80000001u, 0, TUNESMITH_ECX, 16, TUNESMITH_AVX},
  };
  if (!strcmp(name, "avx10.1")) return tunesmith_has_avx10_(1);
  if (!strcmp(name, "avx10.2")) return tunesmith_has_avx10_(2);
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    uint32_t parts[4];
    if (strcmp(name, known[i].name)) continue;
    if (!tunesmith_cpuid_(known[i].leaf, known[i].subleaf, parts)) return 0;
    return (parts[known[i].part] >> known[i].bit & 1) &&
           (tunesmith_saved_registers_() & known[i].saved) == known[i].saved;
  }
  return -1;
}

#else

static inline int tunesmith_find_instructions(const char* name) {
  (void)name;
  return 1; /* not checked on other processors */
}

#endif

/* Whether code may use these instructions. */
static inline int tunesmith_has_instructions(const char* name) {
  return tunesmith_find_instructions(name) == 1;
}

#endif
