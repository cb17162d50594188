// The baseline: plain vectors of the compiler, no fused multiply-add.
#include "kernels/gemm/micro_kernel.h"

namespace tailor::kernels::gemm {
namespace {

struct Sse2F32 {
  using T = float;
  typedef float V __attribute__((vector_size(16)));
  static constexpr int lanes = 4, rows = 4;
  static constexpr bool wide_registers = false, has_transpose = false;
  static V zero() { return V{}; }
  static V load(const float* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static V load_first(const float* p, int64_t n) {
    V v{};
    for (int64_t i = 0; i < n; ++i) v[i] = p[i];
    return v;
  }
  static void store(float* p, V v) { std::memcpy(p, &v, sizeof v); }
  static void store_first(float* p, V v, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
  }
  static V set(float x) { return V{x, x, x, x}; }
  static V fma(V a, V b, V c) { return a * b + c; }
  static float sum(V v) { return (v[0] + v[2]) + (v[1] + v[3]); }
  static float to_float(Half h) { return h; }
  static Half from_float(float x) { return Half(x); }
};

}  // namespace

const KernelSet<float>& f32_sse2() {
  static const KernelSet<float> set = make_set<Sse2F32>(Isa::Sse2);
  return set;
}

}  // namespace tailor::kernels::gemm
