#include <immintrin.h>

#include "kernels/gemm/micro_kernel.h"

namespace tailor::kernels::gemm {
namespace {

struct Avx512F64 {
  using T = double;
  using V = __m512d;
  static constexpr int lanes = 8, rows = 14;
  static constexpr bool wide_registers = true, has_transpose = false;
  static V zero() { return _mm512_setzero_pd(); }
  static __mmask8 first(int64_t n) { return static_cast<__mmask8>((1u << n) - 1u); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static V load_first(const double* p, int64_t n) { return _mm512_maskz_loadu_pd(first(n), p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static void store_first(double* p, V v, int64_t n) { _mm512_mask_storeu_pd(p, first(n), v); }
  static V set(double x) { return _mm512_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static double sum(V v) {
    const __m256d h = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    const __m128d q = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(q, _mm_unpackhi_pd(q, q)));
  }
};

}  // namespace

const KernelSet<double>& f64_avx512() {
  static const KernelSet<double> set = make_set<Avx512F64>(Isa::Avx512);
  return set;
}

}  // namespace tailor::kernels::gemm
