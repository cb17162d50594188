#include <immintrin.h>

#include "kernels/gemm/micro_kernel.h"

namespace tailor::kernels::gemm {
namespace {

struct Avx2F64 {
  using T = double;
  using V = __m256d;
  static constexpr int lanes = 4, rows = 6;
  static constexpr bool wide_registers = false, has_transpose = false;
  static V zero() { return _mm256_setzero_pd(); }
  static __m256i first(int64_t n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static V load_first(const double* p, int64_t n) { return _mm256_maskload_pd(p, first(n)); }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static void store_first(double* p, V v, int64_t n) { _mm256_maskstore_pd(p, first(n), v); }
  static V set(double x) { return _mm256_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static double sum(V v) {
    const __m128d q = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(q, _mm_unpackhi_pd(q, q)));
  }
};

}  // namespace

const KernelSet<double>& f64_avx2() {
  static const KernelSet<double> set = make_set<Avx2F64>(Isa::Avx2);
  return set;
}

}  // namespace tailor::kernels::gemm
