#include "runtime/cpu.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#define _Bool bool  // the header is written in C, and clang has no such word in C++
#include <sys/platform/x86.h>
#undef _Bool
#endif

namespace tailor {

static size_t cache_bytes(int name, size_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<size_t>(bytes) : otherwise;
}

#if defined(__x86_64__)
static std::string brand() {
  char text[49] = {};
  unsigned r[4];
  if (__get_cpuid(0x80000000u, &r[0], &r[1], &r[2], &r[3]) == 0 || r[0] < 0x80000004u) return "x86-64";
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    __get_cpuid(0x80000002u + leaf, &r[0], &r[1], &r[2], &r[3]);
    std::memcpy(text + 16 * leaf, r, 16);
  }
  std::string name(text);
  const size_t last = name.find_last_not_of(' ');
  name.erase(last == std::string::npos ? 0 : last + 1);
  name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
  return name;
}
#endif

static CpuFeatures detect() {
  CpuFeatures f;
#if defined(__x86_64__)
  // __builtin_cpu_supports also asks whether the system saves the wide registers.
  __builtin_cpu_init();
  f.sse2 = true;
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) f.avx2 = f.avx2 && (c & bit_F16C) != 0;
  f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  if (f.avx512) {
    f.avx512_vnni = __builtin_cpu_supports("avx512vnni") != 0;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) f.avx512_bf16 = (a & (1u << 5)) != 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) f.amx_bf16 = (d & (1u << 22)) != 0 && (d & (1u << 24)) != 0;
  }
  f.name = brand();
#else
  f.name = "unknown";
#endif
  f.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, size_t{32} << 10);
  f.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, size_t{512} << 10);
  f.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, size_t{8} << 20);
  return f;
}

std::string cpu_identity() {
  std::string text;
#if defined(__x86_64__)
  const auto put = [&](unsigned word) { text.append(reinterpret_cast<const char*>(&word), sizeof word); };
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) != 0) put(b), put(c), put(d);
  // The C library has asked for the rest already (in a virtual machine each question takes microseconds), and whether the system
  // saves the registers.
  for (unsigned leaf = 0; leaf < 32; ++leaf) {
    const cpuid_feature* f = __x86_get_cpuid_feature_leaf(leaf);
    for (unsigned i = 0; i < 4; ++i) {
      const bool core_asked = leaf == CPUID_INDEX_1 && i == 1;  // holds its number
      if (!core_asked) put(f->cpuid_array[i]), put(f->active_array[i]);
    }
  }
#endif
  return text;
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures* const f = new CpuFeatures(detect());
  return *f;
}

}  // namespace tailor
