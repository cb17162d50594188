// The baseline: plain vectors of the compiler, no fused multiply-add.
#include "kernels/gemm/micro_kernel.h"

namespace tailor::kernels::gemm {
namespace {

struct Sse2F64 {
  using T = double;
  typedef double V __attribute__((vector_size(16)));
  static constexpr int lanes = 2, rows = 4;
  static constexpr bool wide_registers = false, has_transpose = false;
  static V zero() { return V{}; }
  static V load(const double* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static V load_first(const double* p, int64_t n) {
    V v{};
    for (int64_t i = 0; i < n; ++i) v[i] = p[i];
    return v;
  }
  static void store(double* p, V v) { std::memcpy(p, &v, sizeof v); }
  static void store_first(double* p, V v, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
  }
  static V set(double x) { return V{x, x}; }
  static V fma(V a, V b, V c) { return a * b + c; }
  static double sum(V v) { return v[0] + v[1]; }
};

}  // namespace

const KernelSet<double>& f64_sse2() {
  static const KernelSet<double> set = make_set<Sse2F64>(Isa::Sse2);
  return set;
}

}  // namespace tailor::kernels::gemm
