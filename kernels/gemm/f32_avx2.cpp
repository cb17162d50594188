#include <immintrin.h>

#include "kernels/gemm/micro_kernel.h"

namespace tailor::kernels::gemm {
namespace {

struct Avx2F32 {
  using T = float;
  using V = __m256;
  static constexpr int lanes = 8, rows = 6;
  static constexpr bool wide_registers = false, has_transpose = true;
  static V zero() { return _mm256_setzero_ps(); }
  static __m256i first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load_first(const float* p, int64_t n) { return _mm256_maskload_ps(p, first(n)); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static void store_first(float* p, V v, int64_t n) { _mm256_maskstore_ps(p, first(n), v); }
  static V set(float x) { return _mm256_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(V v) {
    const __m128 q = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
  }
  static float to_float(Half h) { return _cvtsh_ss(h.bits); }
  static Half from_float(float x) {
    Half h;
    h.bits = static_cast<uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
    return h;
  }

  static void transpose(V (&r)[8]) {
    V t[8];
    for (int i = 0; i < 4; ++i) {
      t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
      r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
      r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
      r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
      t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
    }
    for (int i = 0; i < 8; ++i) r[i] = t[i];
  }
  static void transpose(const float* src, int64_t src_row, int64_t lines, float* dst, int64_t dst_row, int64_t width) {
    V r[8];
    for (int i = 0; i < 8; ++i) r[i] = i < lines ? load(src + i * src_row) : zero();
    transpose(r);
    for (int i = 0; i < 8; ++i) store_first(dst + i * dst_row, r[i], width);
  }
  static void transpose_out(const float* src, int64_t src_row, int64_t src_rows, float* dst, int64_t dst_row, int64_t columns) {
    V r[8];
    for (int i = 0; i < 8; ++i) r[i] = i < src_rows ? load_first(src + i * src_row, columns) : zero();
    transpose(r);
    for (int i = 0; i < 8; ++i)
      if (i < columns) store_first(dst + i * dst_row, r[i], src_rows);
  }
};

}  // namespace

const KernelSet<float>& f32_avx2() {
  static const KernelSet<float> set = make_set<Avx2F32>(Isa::Avx2);
  return set;
}

}  // namespace tailor::kernels::gemm
